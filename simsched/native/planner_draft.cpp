#include "planner_draft.hpp"

#include <algorithm>

namespace simsched {

namespace {

std::optional<std::pair<double, double>> uniform(const Platform &platform) {
    const auto q = platform.places;
    const auto own = [&](std::size_t a, std::size_t b) {
        return std::pair{platform.latency_s[a * q + b], platform.s_per_B[a * q + b]};
    };
    const auto known = q > 1 ? own(0, 1) : std::pair{0.0, 0.0};
    for (std::size_t a = 0; a < q; ++a)
        for (std::size_t b = 0; b < q; ++b)
            if (own(a, b) != (a == b ? std::pair{0.0, 0.0} : known))
                return std::nullopt;
    return known;
}

} // namespace

Draft::Draft(const Platform &platform, bool insertion)
    : platform_(platform), inputs_(platform.successors), insertion_(insertion), uniform_(uniform(platform)),
      executor_(platform.n(), -1), waiting_(platform.n()), start_(platform.n()), finish_(platform.n()),
      free_(platform.executors()), arrivals_(platform.executors()), at_place_(platform.places, -1.0),
      executors_at_(platform.places) {
    for (const auto j : platform.successors.indices)
        ++waiting_[j];
    for (std::size_t e = 0; e < platform.executors(); ++e)
        executors_at_[platform.place_of[e]].push_back(static_cast<std::int32_t>(e));
    const auto &seconds = platform.kind_seconds;
    const bool keep_ends = std::find(seconds.begin(), seconds.end(), 0.0) != seconds.end();
    if (insertion)
        timelines_.assign(platform.executors(), Timeline(keep_ends));
}

std::span<const double> Draft::arrivals(std::size_t task) {
    if (uniform_)
        by_uniform_messages(task);
    else
        by_any_messages(task);
    return arrivals_;
}

// Every executor gets the last message of all, but those beside a producer: of that place they need none.
void Draft::by_uniform_messages(std::size_t task) {
    const auto [latency_s, s_per_B] = *uniform_;
    double last = 0.0, second = 0.0; // of the place whose message is last, and of all others
    std::int32_t last_place = -1;
    for (auto k = inputs_.indptr[task]; k < inputs_.indptr[task + 1]; ++k) {
        const auto before = inputs_.sources[k];
        if (executor_[before] < 0)
            continue;
        const auto place = platform_.place_of[executor_[before]];
        const auto finish = finish_[before];
        const auto arrival = finish + (latency_s + platform_.edge_bytes[inputs_.edges[k]] * s_per_B);
        if (at_place_[place] < 0.0)
            touched_.push_back(place);
        at_place_[place] = std::max(at_place_[place], finish);
        if (place == last_place) {
            last = std::max(last, arrival);
        } else if (arrival > last) {
            second = last;
            last = arrival;
            last_place = place;
        } else {
            second = std::max(second, arrival);
        }
    }
    std::fill(arrivals_.begin(), arrivals_.end(), last);
    for (const auto place : touched_) {
        const auto known = std::max(at_place_[place], place == last_place ? second : last);
        for (const auto executor : executors_at_[place])
            arrivals_[executor] = known;
        at_place_[place] = -1.0;
    }
    touched_.clear();
}

void Draft::by_any_messages(std::size_t task) {
    std::fill(arrivals_.begin(), arrivals_.end(), 0.0);
    for (auto k = inputs_.indptr[task]; k < inputs_.indptr[task + 1]; ++k) {
        const auto before = inputs_.sources[k];
        if (executor_[before] < 0)
            continue;
        const auto row = static_cast<std::size_t>(platform_.place_of[executor_[before]]) * platform_.places;
        const auto bytes = platform_.edge_bytes[inputs_.edges[k]];
        const auto finish = finish_[before];
        for (std::size_t e = 0; e < arrivals_.size(); ++e) {
            const auto at = row + static_cast<std::size_t>(platform_.place_of[e]);
            const auto message = platform_.latency_s[at] + bytes * platform_.s_per_B[at];
            arrivals_[e] = std::max(arrivals_[e], finish + message);
        }
    }
}

void Draft::place(std::size_t task, std::size_t executor, double start) {
    const auto finish = start + platform_.seconds(task)[platform_.kind_of[executor]];
    executor_[task] = static_cast<std::int32_t>(executor);
    start_[task] = start;
    finish_[task] = finish;
    Timeline::Change change{};
    if (insertion_)
        change = timelines_[executor].place(start, finish);
    if (log_)
        placements_.push_back({task, free_[executor], change});
    free_[executor] = std::max(free_[executor], finish);
}

void Draft::withdraw() {
    const auto &last = placements_.back();
    const auto executor = executor_[last.task];
    if (insertion_)
        timelines_[executor].undo(last.change);
    free_[executor] = last.free;
    executor_[last.task] = -1;
    placements_.pop_back();
}

void Draft::order(std::span<std::int32_t> result) const {
    struct Key {
        double start, finish;
        std::int32_t place, task;
    };
    std::vector<Key> keys(result.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const auto task = platform_.order[k];
        keys[k] = {start_[task], finish_[task], static_cast<std::int32_t>(k), task};
    }
    // Of two that start together, one that takes no time may have to run before the other.
    std::sort(keys.begin(), keys.end(), [](const Key &a, const Key &b) {
        if (a.start != b.start)
            return a.start < b.start;
        return a.finish != b.finish ? a.finish < b.finish : a.place < b.place;
    });
    for (std::size_t k = 0; k < keys.size(); ++k)
        result[k] = keys[k].task;
}

} // namespace simsched
