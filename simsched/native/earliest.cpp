#include "earliest.hpp"

#include "clones.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace simsched {

namespace {

constexpr auto block = Earliest::block;
constexpr auto bit_of = [] {
    std::array<std::uint64_t, block> each{};
    for (std::size_t i = 0; i < block; ++i)
        each[i] = std::uint64_t{1} << i;
    return each;
}();

// The earliest of each block of times.
SIMSCHED_CLONES void look_through(const double *times, std::size_t blocks, double *earliest) {
    for (std::size_t of = 0; of < blocks; ++of, times += block) {
        double least = Earliest::never;
#pragma omp simd reduction(min : least)
        for (std::size_t i = 0; i < block; ++i)
            least = times[i] < least ? times[i] : least;
        earliest[of] = least;
    }
}

SIMSCHED_CLONES std::uint64_t equal(const double *times, double time) {
    std::uint64_t found = 0;
#pragma omp simd reduction(| : found)
    for (std::size_t i = 0; i < block; ++i)
        found |= times[i] == time ? bit_of[i] : 0;
    return found;
}

} // namespace

void Earliest::add_slot() {
    auto needed = ++n_slots_;
    for (auto level = levels_.begin(); level != levels_.end() && needed > level->size(); ++level) {
        level->resize(level->size() + block, never);
        needed = level->size() / block;
    }
    changes_.resize((levels_.front().size() / block + 63) / 64);
    if (levels_.back().size() > block) {
        levels_.emplace_back(block, never);
        changed();
    }
}

void Earliest::look() {
    if (levels_.size() > 1)
        climb();
    look_through(levels_.back().data(), 1, &first_);
    changed_ = false;
}

void Earliest::climb() {
    for (std::size_t word = 0; word < changes_.size(); ++word)
        for (auto bits = std::exchange(changes_[word], 0); bits; bits &= bits - 1) {
            const auto of = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            look_through(&levels_[0][of * block], 1, &levels_[1][of]);
        }
    for (std::size_t level = 2; level < levels_.size(); ++level)
        look_through(levels_[level - 1].data(), levels_[level - 1].size() / block, levels_[level].data());
}

std::uint64_t Earliest::firsts(std::size_t level, std::size_t of) const {
    return equal(&levels_[level][of * block], first_);
}

void Earliest::changed() {
    if (levels_.size() > 1)
        look_through(levels_[0].data(), levels_[0].size() / block, levels_[1].data());
    std::fill(changes_.begin(), changes_.end(), 0);
    changed_ = true;
}

} // namespace simsched
