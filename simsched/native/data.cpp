#include "data.hpp"

#include <cmath>
#include <stdexcept>

namespace simsched {

std::size_t DataPlan::n_places() const {
    return static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(latency_s.size()))));
}

void DataPlan::check(std::size_t n_tasks) const {
    const auto places = n_places(), objects = producer.size();
    if (inputs.n() != n_tasks || size_B.size() != objects || places * places != latency_s.size() ||
        s_per_B.size() != latency_s.size())
        throw std::invalid_argument("the columns of data have different lengths");
    check_rows(inputs, "inputs");
    for (const auto object : inputs.indices)
        if (object < 0 || static_cast<std::size_t>(object) >= objects)
            throw std::invalid_argument("an object does not exist");
    for (const auto task : producer)
        if (task < -1 || (task >= 0 && static_cast<std::size_t>(task) >= n_tasks))
            throw std::invalid_argument("an object's producer does not exist");
    for (const auto place : place_of)
        if (place < 0 || static_cast<std::size_t>(place) >= places)
            throw std::invalid_argument("a place does not exist");
    for (const auto column : {size_B, latency_s, s_per_B})
        for (const auto number : column)
            if (!(number >= 0))
                throw std::invalid_argument("sizes and seconds of data are not below zero");
}

double DataState::placed(Decision &decision, double now) {
    const auto task = static_cast<std::size_t>(decision.task);
    const auto here = plan_.place_of[static_cast<std::size_t>(decision.cores.front())];
    place_[task] = here;
    placed_s_[task] = now;
    double at = now;
    for (auto i = plan_.inputs.indptr[task]; i < plan_.inputs.indptr[task + 1]; ++i) {
        const auto object = static_cast<std::size_t>(plan_.inputs.indices[static_cast<std::size_t>(i)]);
        const auto producer = plan_.producer[object];
        const auto there = producer < 0 ? here : place_[static_cast<std::size_t>(producer)];
        if (there == here || there < 0)
            continue;
        const auto way = static_cast<std::size_t>(there) * n_places_ + static_cast<std::size_t>(here);
        const auto seconds = plan_.latency_s[way] + plan_.size_B[object] * plan_.s_per_B[way];
        if (plan_.read)
            decision.seconds += seconds;
        else
            at = std::max(at, sent(object, there, here, seconds, now));
    }
    return at;
}

double DataState::sent(std::size_t object, std::int32_t source, std::int32_t place, double seconds,
                       double now) {
    for (auto i = last_[object]; i != none; i = before_[i])
        if (messages_[i].place == place)
            return messages_[i].arrive_s;
    const auto depart =
        plan_.planned ? plan_.finish_s[static_cast<std::size_t>(plan_.producer[object])] : now;
    before_.push_back(last_[object]);
    last_[object] = messages_.size();
    messages_.push_back({static_cast<std::int32_t>(object), source, place, depart, depart + seconds});
    return depart + seconds;
}

} // namespace simsched
