#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace simsched {

// Times by slot, the earliest of them at hand: a tree, in which the earliest of a block of times stands above
// it. Blocks that have changed are looked through when somebody asks, all of their times at once. An empty
// slot has never.
class Earliest {
  public:
    static constexpr double never = std::numeric_limits<double>::infinity();
    static constexpr std::size_t block = 32;

    double operator[](std::size_t slot) const { return levels_.front()[slot]; }
    void add_slot();
    void set(std::size_t slot, double time) {
        levels_.front()[slot] = time;
        changes_[slot / block / 64] |= std::uint64_t{1} << slot / block % 64;
        changed_ = true;
    }
    double first() {
        if (changed_)
            look();
        return first_;
    }
    // Calls visit(slot) for the slots of the first time, ascending.
    template <class Visit> void each_first(Visit &&visit) {
        first();
        each_first(levels_.size() - 1, 0, visit);
    }
    // The times, to be changed; `changed` says that they are.
    std::span<double> times() { return std::span(levels_.front()).first(n_slots_); }
    void changed();

  private:
    void look();
    void climb();
    // Which times of a block are the first, a bit each.
    std::uint64_t firsts(std::size_t level, std::size_t of) const;
    template <class Visit> void each_first(std::size_t level, std::size_t of, Visit &visit) const {
        for (auto bits = firsts(level, of); bits; bits &= bits - 1) {
            const auto found = of * block + static_cast<std::size_t>(std::countr_zero(bits));
            if (level)
                each_first(level - 1, found, visit);
            else
                visit(found);
        }
    }

    // Whole blocks: by slot, by block of slots, and so on; the last level is one block.
    std::vector<std::vector<double>> levels_{std::vector<double>(block, never)};
    std::vector<std::uint64_t> changes_ = std::vector<std::uint64_t>(1); // a bit for each block of slots
    bool changed_ = false;                                               // whether one has, or all
    std::size_t n_slots_ = 0;
    double first_ = never;
};

} // namespace simsched
