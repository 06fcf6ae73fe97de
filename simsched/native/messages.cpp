#include "messages.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

Mail::Mail(const DataPlan &plan)
    : plan_(plan), on_(plan.shares_links() ? plan.capacity_Bps.size() : 0), alone_(on_.size()),
      share_(on_.size()) {
    for (std::size_t link = 0; link < on_.size(); ++link)
        alone_[link] = 1.0 / plan.capacity_Bps[link];
}

std::size_t Mail::send(std::int32_t object, std::int32_t source, std::int32_t place, double now) {
    const auto number = sent_.size(), way = plan_.way(source, place);
    const double latency = plan_.latency_s[way], alone = plan_.s_per_B[way];
    const double bytes = plan_.size_B[at(object)] * alone;
    // What shares no link arrives in one step.
    const bool shares = plan_.shares_links() && bytes > 0;
    sent_.push_back({object, source, place, now, never_s});
    moving_.push_back({now + (shares ? latency : latency + bytes), bytes, alone});
    moving_.back().moving = !shares;
    if (shares)
        moving_.back().links = row(plan_.ways, way);
    if (moving_.back().due_s > now)
        at_time(number);
    else
        happened(number, now);
    return number;
}

void Mail::at_time(std::size_t number) {
    if (!(moving_[number].due_s < never_s))
        throw std::overflow_error("the times grow beyond all numbers");
    due_.push_back({moving_[number].due_s, number, moving_[number].version});
    std::push_heap(due_.begin(), due_.end());
}

void Mail::due(double now, std::vector<std::size_t> &numbers) {
    while (next() == now && !due_.empty()) {
        numbers.push_back(due_.front().number);
        pop();
    }
    std::sort(numbers.begin(), numbers.end());
}

bool Mail::happened(std::size_t number, double now) {
    auto &state = moving_[number];
    if (!state.moving) {
        state.moving = true;
        state.due_s = now + state.bytes_s;
        if (state.due_s > now) {
            load(number);
            at_time(number);
            return false;
        }
    } else {
        unload(number);
    }
    sent_[number].arrive_s = now;
    return true;
}

void Mail::load(std::size_t number) {
    for (const auto link : moving_[number].links) {
        on_[at(link)].push_back(number);
        touch(link);
    }
}

void Mail::unload(std::size_t number) {
    for (const auto link : moving_[number].links) {
        auto &on = on_[at(link)];
        const auto found = std::find(on.begin(), on.end(), number);
        if (found == on.end())
            return; // it had no bytes
        *found = on.back();
        on.pop_back();
        touch(link);
    }
}

void Mail::touch(std::int32_t link) {
    const auto &on = on_[at(link)];
    // Division takes longer than all else here, and most messages are alone.
    share_[at(link)] =
        on.size() < 2 ? alone_[at(link)] : static_cast<double>(on.size()) / plan_.capacity_Bps[at(link)];
    for (const auto number : on)
        if (!moving_[number].touched) {
            moving_[number].touched = true;
            touched_.push_back(number);
        }
}

void Mail::update(double now) {
    for (const auto number : touched_) {
        auto &state = moving_[number];
        state.touched = false;
        if (sent_[number].there())
            continue;
        double slowest = 0;
        for (const auto link : state.links)
            slowest = std::max(slowest, share_[at(link)]);
        const double slowdown = slowest > state.alone ? slowest / state.alone : 1.0;
        if (slowdown == state.slowdown)
            continue;
        state.due_s = now + (state.due_s - now) * (slowdown / state.slowdown);
        state.slowdown = slowdown;
        ++state.version;
        at_time(number);
    }
    touched_.clear();
}

} // namespace simsched
