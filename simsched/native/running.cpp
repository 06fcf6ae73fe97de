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
        for (auto slot = of * block; slot < last; ++slot)
            if (times_[slot] == due_s_)
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
