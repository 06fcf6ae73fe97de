#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simsched {

// A set of the numbers 0 to n - 1 that gives its least member in a few steps: one bit a number, and over
// every 64 words one bit a word that says whether it is empty, up to a single word. Twenty bits need four
// levels.
class OrderedSet {
  public:
    explicit OrderedSet(std::size_t n, bool full = false) : size_(full ? n : 0) {
        do {
            const auto words = (n + 63) / 64;
            auto &level = levels_.emplace_back(words, full ? ~std::uint64_t{0} : 0);
            if (full && n % 64)
                level.back() = (std::uint64_t{1} << n % 64) - 1;
            n = words;
        } while (n > 1);
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    bool contains(std::size_t i) const { return levels_[0][i / 64] >> i % 64 & 1; }

    void insert(std::size_t i) {
        size_ += !contains(i);
        for (auto &level : levels_) {
            auto &word = level[i / 64];
            const bool occupied = word != 0;
            word |= std::uint64_t{1} << i % 64;
            if (occupied)
                return;
            i /= 64;
        }
    }

    void erase(std::size_t i) {
        size_ -= contains(i);
        for (auto &level : levels_) {
            auto &word = level[i / 64];
            word &= ~(std::uint64_t{1} << i % 64);
            if (word)
                return;
            i /= 64;
        }
    }

    // The least member; the set must not be empty.
    std::size_t first() const {
        std::size_t i = 0;
        for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
            i = i * 64 + static_cast<std::size_t>(std::countr_zero((*level)[i]));
        return i;
    }

    // The least member that is not below `from`; npos where there is none.
    std::size_t next(std::size_t from) const {
        for (std::size_t level = 0; level < levels_.size(); ++level, from = from / 64 + 1) {
            const auto &words = levels_[level];
            if (from / 64 >= words.size())
                return npos;
            if (const auto word = words[from / 64] & ~std::uint64_t{0} << from % 64) {
                from = from / 64 * 64 + static_cast<std::size_t>(std::countr_zero(word));
                while (level--)
                    from = from * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][from]));
                return from;
            }
        }
        return npos;
    }

    // The greatest member; the set must not be empty.
    std::size_t last() const {
        std::size_t i = 0;
        for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
            i = i * 64 + 63 - static_cast<std::size_t>(std::countl_zero((*level)[i]));
        return i;
    }

    // The member with `k` lesser ones; there must be one.
    std::size_t nth(std::size_t k) const {
        std::size_t w = 0;
        for (std::size_t held; (held = static_cast<std::size_t>(std::popcount(levels_[0][w]))) <= k; ++w)
            k -= held;
        auto word = levels_[0][w];
        while (k--)
            word &= word - 1;
        return w * 64 + static_cast<std::size_t>(std::countr_zero(word));
    }

    static constexpr std::size_t npos = ~std::size_t{0};

    std::size_t take_first() {
        const auto i = first();
        erase(i);
        return i;
    }

    // Calls visit(member) in ascending order until it returns false.
    template <class Visit> void each(Visit &&visit) const {
        if (levels_.size() == 1) {
            each_in(0, visit);
            return;
        }
        for (std::size_t w = 0; w < levels_[1].size(); ++w)
            for (auto word = levels_[1][w]; word; word &= word - 1)
                if (!each_in(w * 64 + static_cast<std::size_t>(std::countr_zero(word)), visit))
                    return;
    }

  private:
    template <class Visit> bool each_in(std::size_t w, Visit &&visit) const {
        for (auto word = levels_[0][w]; word; word &= word - 1)
            if (!visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word))))
                return false;
        return true;
    }

    std::vector<std::vector<std::uint64_t>> levels_;
    std::size_t size_;
};

} // namespace simsched
