#include "running.hpp"

#include "clones.hpp"

#include <algorithm>

namespace simsched {

namespace {

SIMSCHED_CLONES double earliest(const double *times, std::size_t n) {
    double least = Running::never;
#pragma omp simd reduction(min : least)
    for (std::size_t i = 0; i < n; ++i)
        least = times[i] < least ? times[i] : least;
    return least;
}

// The first of some slots with this time, else the last.
SIMSCHED_CLONES std::size_t find(const double *times, std::size_t slot, std::size_t last, double time) {
    constexpr std::size_t at_once = 16;
    for (; slot + at_once <= last; slot += at_once) {
        std::int64_t found = 0;
#pragma omp simd reduction(+ : found)
        for (std::size_t i = 0; i < at_once; ++i)
            found += times[slot + i] == time;
        if (found)
            break;
    }
    while (slot < last && times[slot] != time)
        ++slot;
    return slot;
}

} // namespace

void Running::look(std::size_t of) {
    const auto first = of * block;
    least_[of] = earliest(times_.data() + first, std::min(block, times_.size() - first));
}

void Running::look() {
    due_s_ = earliest(least_.data(), least_.size());
    if (due_s_ == never)
        return;
    for (std::size_t of = 0; of < least_.size(); ++of) {
        if (least_[of] != due_s_)
            continue;
        const auto last = std::min((of + 1) * block, times_.size());
        for (auto slot = of * block; (slot = find(times_.data(), slot, last, due_s_)) < last; ++slot)
            due_.push_back(slot);
    }
}

std::size_t Running::slot(std::int32_t task) const {
    std::size_t slot = 0;
    while (tasks_[slot] != task || !has(slot))
        ++slot;
    return slot;
}

void Running::changed() {
    due_.clear();
    for (std::size_t of = 0; of < least_.size(); ++of)
        look(of);
}

} // namespace simsched
