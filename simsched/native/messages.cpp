#include "messages.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

Mail::Mail(const DataPlan &plan) : plan_(plan) {
    if (plan.shares_links())
        for (const auto capacity_Bps : plan.capacity_Bps)
            links_.push_back({capacity_Bps, 1.0 / capacity_Bps, 0.0, {}});
}

std::size_t Mail::send(std::int32_t object, std::int32_t source, std::int32_t place, double now,
                       std::int32_t reader) {
    const auto number = sent_.size(), way = plan_.way(source, place), slot = free_slot();
    const double latency = plan_.latency_s[way], alone = plan_.s_per_B[way];
    const double bytes = plan_.size_B[at(object)] * alone;
    // What shares no link arrives in one step.
    const bool shares = plan_.shares_links() && bytes > 0;
    sent_.push_back({object, source, place, reader, now, never_s});
    moving_[slot] = {number, bytes, alone, {}, !shares, alone};
    if (shares)
        moving_[slot].links = row(plan_.ways, way);
    if (const double due = now + (shares ? latency : latency + bytes); due > now)
        at_time(slot, due);
    else
        happened(slot, now);
    return number;
}

std::size_t Mail::free_slot() {
    if (free_.empty()) {
        free_.push_back(moving_.size());
        moving_.emplace_back();
    }
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
}

void Mail::at_time(std::size_t slot, double time) {
    if (!(time < never_s))
        throw std::overflow_error("the times grow beyond all numbers");
    due_.set(slot, time);
}

void Mail::due(double now, std::vector<std::pair<std::size_t, std::size_t>> &messages) {
    if (next() != now)
        return;
    due_.each_first([&](std::size_t slot) { messages.emplace_back(moving_[slot].number, slot); });
    std::sort(messages.begin(), messages.end());
}

bool Mail::happened(std::size_t slot, double now) {
    auto &message = moving_[slot];
    if (!message.moving) {
        message.moving = true;
        if (const double due = now + message.bytes_s; due > now) {
            load(slot);
            at_time(slot, due);
            return false;
        }
    } else if (message.loads) {
        unload(slot);
    }
    sent_[message.number].arrive_s = now;
    due_.set(slot, never_s);
    free_.push_back(slot);
    return true;
}

void Mail::load(std::size_t slot) {
    auto &message = moving_[slot];
    message.loads = true;
    for (const auto number : message.links) {
        auto &link = links_[at(number)];
        link.on.push_back(static_cast<std::uint32_t>(slot));
        link.carry();
        for (const auto other : link.on)
            if (moving_[other].slowest < link.share) {
                moving_[other].slowest = link.share;
                touch(other);
            }
    }
}

void Mail::unload(std::size_t slot) {
    auto &message = moving_[slot];
    message.loads = false;
    for (const auto number : message.links) {
        auto &link = links_[at(number)];
        std::size_t place = 0;
        while (link.on[place] != slot)
            ++place;
        link.on[place] = link.on.back();
        link.on.pop_back();
        if (link.on.empty())
            continue;
        const double before = link.share;
        link.carry();
        for (const auto other : link.on)
            if (moving_[other].slowest == before) {
                moving_[other].eased = true;
                touch(other);
            }
    }
}

void Mail::touch(std::size_t slot) {
    if (!moving_[slot].touched)
        touched_.push_back(slot);
    moving_[slot].touched = true;
}

void Mail::look_around(Moving &message) {
    message.eased = false;
    message.slowest = message.alone;
    for (const auto link : message.links)
        message.slowest = std::max(message.slowest, links_[at(link)].share);
}

void Mail::update(double now) {
    for (const auto slot : touched_) {
        auto &message = moving_[slot];
        message.touched = false;
        if (message.eased)
            look_around(message);
        const double slowdown = message.slowest / message.alone;
        if (!message.loads || slowdown == message.slowdown)
            continue;
        at_time(slot, now + (due_[slot] - now) * (slowdown / message.slowdown));
        message.slowdown = slowdown;
    }
    touched_.clear();
}

} // namespace simsched
