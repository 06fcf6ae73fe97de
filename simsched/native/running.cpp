#include "running.hpp"

namespace simsched {

void Running::look() {
    due_s_ = times_.first();
    if (due_s_ != never)
        times_.each_first([this](std::size_t slot) { due_.push_back(slot); });
}

std::size_t Running::slot(std::int32_t task) const {
    std::size_t slot = 0;
    while (tasks_[slot] != task || !has(slot))
        ++slot;
    return slot;
}

} // namespace simsched
