#include "messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace simsched {

Mail::Mail(const DataPlan &plan) : plan_(plan) {
    sent_.reserve(plan.inputs.indices.size()); // hardly ever more
    if (plan.shares_links())
        for (const auto capacity_Bps : plan.capacity_Bps) {
            links_.push_back({1.0 / capacity_Bps});
            crowds_.push_back({capacity_Bps, {}});
        }
}

std::size_t Mail::send(std::int32_t object, std::int32_t source, std::int32_t place, double now,
                       std::int32_t reader) {
    if (free_.empty())
        add_slot();
    const auto number = sent_.size(), way = plan_.way(source, place), slot = free_.back();
    free_.pop_back();
    const double latency = plan_.latency_s[way], alone = plan_.s_per_B[way];
    const double bytes = plan_.size_B[at(object)] * alone;
    // What shares no link arrives in one step.
    const bool shares = plan_.shares_links() && bytes > 0;
    sent_.push_back({object, source, place, reader, now, never_s});
    moving_[slot] = {number, bytes, alone, {}, !shares};
    slowest_[slot] = alone;
    if (shares) {
        moving_[slot].links = row(plan_.ways, way);
        __builtin_prefetch(moving_[slot].links.data()); // loaded soon
    }
    if (const double due = now + (shares ? latency : latency + bytes); due > now)
        at_time(slot, due);
    else
        happened(slot, now);
    return number;
}

std::optional<OnWay> Mail::on_way(std::int32_t object, std::int32_t place) const {
    for (std::size_t slot = 0; slot < moving_.size(); ++slot) {
        const auto &message = sent_[moving_[slot].number];
        if (message.object == object && message.place == place && !message.there())
            return OnWay{message.source, due_[slot], moving_[slot].slowdown, moving_[slot].moving};
    }
    return std::nullopt;
}

void Mail::add_slot() {
    free_.push_back(moving_.size());
    moving_.emplace_back();
    slowest_.emplace_back();
    due_.add_slot();
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
    if (messages.size() > 1)
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
    double slowest = message.alone;
    for (const auto number : message.links) {
        auto &link = links_[at(number)];
        if (link.n++)
            join(at(number), slot);
        else
            link.one = static_cast<std::uint32_t>(slot);
        slowest = std::max(slowest, link.share);
    }
    slow_down(slot, slowest);
}

void Mail::unload(std::size_t slot) {
    auto &message = moving_[slot];
    message.loads = false;
    for (const auto number : message.links)
        if (--links_[at(number)].n)
            leave(at(number), slot);
}

// One more message slows down the others on a link.
void Mail::join(std::size_t number, std::size_t slot) {
    auto &link = links_[number];
    auto &[capacity_Bps, others] = crowds_[number];
    link.share = static_cast<double>(link.n) / capacity_Bps;
    slow_down(link.one, link.share);
    for (const auto other : others)
        slow_down(other, link.share);
    others.push_back(static_cast<std::uint32_t>(slot));
}

void Mail::leave(std::size_t number, std::size_t slot) {
    auto &link = links_[number];
    auto &[capacity_Bps, others] = crowds_[number];
    (link.one == slot ? link.one : *std::find(others.begin(), others.end(), slot)) = others.back();
    others.pop_back();
    const double before = std::exchange(link.share, static_cast<double>(link.n) / capacity_Bps);
    ease(link.one, before);
    for (const auto other : others)
        ease(other, before);
}

void Mail::slow_down(std::size_t slot, double share) {
    if (!(slowest_[slot] < share))
        return;
    slowest_[slot] = share;
    touch(slot);
}

void Mail::ease(std::size_t slot, double before) {
    if (slowest_[slot] != before)
        return;
    moving_[slot].eased = true;
    touch(slot);
}

void Mail::touch(std::size_t slot) {
    if (!moving_[slot].touched)
        touched_.push_back(slot);
    moving_[slot].touched = true;
}

double Mail::look_around(const Moving &message) const {
    double slowest = message.alone;
    for (const auto link : message.links)
        slowest = std::max(slowest, links_[at(link)].share);
    return slowest;
}

void Mail::update(double now) {
    for (const auto slot : touched_) {
        auto &message = moving_[slot];
        message.touched = false;
        if (message.eased)
            slowest_[slot] = look_around(message);
        message.eased = false;
        const double slowdown = slowest_[slot] / message.alone;
        if (!message.loads || slowdown == message.slowdown)
            continue;
        at_time(slot, now + (due_[slot] - now) * (slowdown / message.slowdown));
        message.slowdown = slowdown;
    }
    touched_.clear();
}

} // namespace simsched
