#include "room.hpp"

#include <algorithm>
#include <string>

namespace simsched {

NoRoom::NoRoom(std::int32_t task, std::int32_t place, std::int64_t need_B, std::int64_t held_B, bool waits)
    : std::runtime_error(std::to_string(task) + " " + std::to_string(place) + " " + std::to_string(need_B) +
                         " " + std::to_string(held_B) + " " + std::to_string(waits)) {}

Room::Room(const DataPlan &plan, const std::vector<std::int32_t> &at_place, Leaves forget, Leaves spill)
    : plan_(plan), at_place_(at_place), forget_(std::move(forget)), spill_(std::move(spill)),
      to_come_(plan.readers.begin(), plan.readers.end()), held_B_(plan.n_places()),
      leaving_B_(plan.n_places()), copies_(plan.n_places()), holders_(plan.n_objects()),
      queues_(plan.n_places()) {}

bool Room::enters(const Entry &entry) {
    auto &queue = queues_[at(entry.place)];
    if (queue.empty() && takes(entry))
        return true;
    queue.push_back(entry.task);
    return false;
}

std::int32_t Room::waiting(std::int32_t place) const {
    const auto &queue = queues_[at(place)];
    return queue.empty() ? nowhere : queue.front();
}

std::vector<std::int32_t> Room::changed() {
    std::vector<std::int32_t> places(changed_.begin(), changed_.end());
    changed_.clear();
    return places;
}

bool Room::lets_in(const Entry &entry) {
    if (!takes(entry))
        return false;
    queues_[at(entry.place)].pop_front();
    return true;
}

std::int64_t Room::need(const Entry &entry) const {
    std::int64_t need_B = 0;
    for (const auto object : entry.fresh)
        if (!copies_[at(entry.place)].contains(object))
            need_B += plan_.whole_B(object);
    return need_B;
}

bool Room::takes(const Entry &entry) {
    const auto need_B = need(entry);
    if (plan_.place_B[at(entry.place)] < never_s && !fits(need_B, entry))
        return false;
    for (const auto object : entry.fresh) {
        const auto size_B = plan_.whole_B(object);
        if (copies_[at(entry.place)].try_emplace(object, Copy{size_B}).second) {
            holders_[at(object)].push_back(entry.place);
            held_B_[at(entry.place)] += size_B;
        }
    }
    uses_[entry.task] = entry.used;
    for (const auto &[object, place] : entry.used)
        use(object, place);
    return true;
}

bool Room::has_room(std::int64_t held_B, std::int64_t need_B, std::int32_t place) const {
    return static_cast<double>(held_B + need_B) <= plan_.place_B[at(place)];
}

bool Room::fits(std::int64_t need_B, const Entry &entry) {
    const auto place = entry.place;
    auto whole_B = need_B;
    for (const auto &[object, where] : entry.used)
        if (const auto *there = copy(object, place); there && where == place)
            whole_B += there->size_B;
    if (!has_room(0, whole_B, place))
        throw NoRoom(entry.task, place, whole_B, held_B_[at(place)], false);
    if (plan_.spills)
        make_room(need_B, entry);
    return has_room(held_B_[at(place)], need_B, place);
}

void Room::make_room(std::int64_t need_B, const Entry &entry) {
    const auto place = entry.place;
    std::vector<std::pair<std::int64_t, std::int32_t>> idle;
    for (const auto &[object, one] : copies_[at(place)]) {
        const std::pair wanted(object, place);
        if (!one.uses && !one.leaving &&
            std::find(entry.used.begin(), entry.used.end(), wanted) == entry.used.end())
            idle.push_back({one.last, object});
    }
    std::sort(idle.begin(), idle.end());
    for (const auto &[last, object] : idle) {
        if (has_room(held_B_[at(place)] - leaving_B_[at(place)], need_B, place))
            return;
        if (at_place_[at(object)] == place) {
            auto *one = copy(object, place);
            one->leaving = true;
            leaving_B_[at(place)] += one->size_B;
            spill_(object, place);
        } else {
            drop(object, place);
            forget_(object, place);
        }
    }
}

Room::Copy *Room::copy(std::int32_t object, std::int32_t place) {
    auto &copies = copies_[at(place)];
    const auto found = copies.find(object);
    return found == copies.end() ? nullptr : &found->second;
}

void Room::drop(std::int32_t object, std::int32_t place) {
    held_B_[at(place)] -= copy(object, place)->size_B;
    copies_[at(place)].erase(object);
    std::erase(holders_[at(object)], place);
    changed_.insert(place);
}

void Room::use(std::int32_t object, std::int32_t place) {
    ++events_;
    if (auto *one = copy(object, place)) {
        ++one->uses;
        one->last = events_;
    }
}

void Room::release(std::int32_t object, std::int32_t place) {
    ++events_;
    auto *one = copy(object, place);
    if (!one)
        return;
    --one->uses;
    one->last = events_;
    if (!one->uses)
        changed_.insert(place);
    drop_idle(object, place);
}

// Gives up a copy that nobody uses, or will.
void Room::drop_idle(std::int32_t object, std::int32_t place) {
    const auto *one = copy(object, place);
    const bool stays = !plan_.readers[at(object)] && plan_.goes_to[at(object)] == nowhere;
    if (!one->uses && !one->leaving && !to_come_[at(object)] && !stays) {
        drop(object, place);
        forget_(object, place);
    }
}

void Room::asked(std::span<const std::int32_t> read) {
    if (!plan_.aborts)
        came(read);
}

void Room::came(std::span<const std::int32_t> read) {
    for (const auto object : read)
        if (!--to_come_[at(object)]) {
            const auto places = holders_[at(object)];
            for (const auto place : places)
                drop_idle(object, place);
        }
}

void Room::finished(std::int32_t task, std::span<const std::int32_t> read) {
    give_back(task);
    if (plan_.aborts)
        came(read);
}

void Room::give_back(std::int32_t task) {
    const auto used = std::move(uses_.extract(task).mapped());
    for (const auto &[object, place] : used)
        release(object, place);
}

void Room::aborted(std::int32_t task, std::int32_t place, std::span<const std::int32_t> written) {
    give_back(task);
    for (const auto object : written)
        if (copy(object, place))
            drop(object, place);
}

void Room::departs(const Message &message) {
    use(message.object, message.source);
    use(message.object, message.place);
}

void Room::arrives(const Message &message) {
    release(message.object, message.source);
    release(message.object, message.place);
}

bool Room::spilled(std::int32_t object, std::int32_t place) {
    auto *one = copy(object, place);
    one->leaving = false;
    leaving_B_[at(place)] -= one->size_B;
    changed_.insert(place);
    if (one->uses)
        return false;
    drop(object, place);
    return true;
}

void Room::check_stuck(const std::function<Entry(std::int32_t)> &entry_of) const {
    for (const auto &queue : queues_)
        if (!queue.empty()) {
            const auto entry = entry_of(queue.front());
            throw NoRoom(entry.task, entry.place, need(entry), held_B_[at(entry.place)], true);
        }
}

} // namespace simsched
