#include "list_scheduler.hpp"

#include <stdexcept>
#include <string>

namespace simsched {

RankQueue::RankQueue(std::span<const std::int32_t> position)
    : position_(position), task_at_(position.size(), -1), ready_(position.size()) {
    for (std::size_t task = 0; task < position.size(); ++task) {
        const auto place = position[task];
        if (place < 0 || static_cast<std::size_t>(place) >= position.size() ||
            task_at_[static_cast<std::size_t>(place)] >= 0)
            throw std::invalid_argument("position " + std::to_string(place) + " of task " +
                                        std::to_string(task) + " is outside the list or occurs twice");
        task_at_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(task);
    }
}

} // namespace simsched
