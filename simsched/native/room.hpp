#pragma once

#include "data.hpp"
#include "messages.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

// Room for objects at places that hold no more than their size: the twin of simsched/replay/room.py.

namespace simsched {

// A task needs more than a place holds, or waits for ever. Its text has the task, the place, the bytes that
// it needs and those that are taken, and whether it waits.
struct NoRoom : std::runtime_error {
    NoRoom(std::int32_t task, std::int32_t place, std::int64_t need_B, std::int64_t held_B, bool waits);
};

// What a task needs at its place: objects that it writes or has brought there, and copies that it uses.
struct Entry {
    std::int32_t task, place;
    std::vector<std::int32_t> fresh;
    std::vector<std::pair<std::int32_t, std::int32_t>> used;
};

class Room {
  public:
    using Leaves = std::function<void(std::int32_t object, std::int32_t place)>;
    Room(const DataPlan &plan, const std::vector<std::int32_t> &at_place, Leaves forget, Leaves spill);

    bool enters(const Entry &entry);
    std::int64_t held_B(std::int32_t place) const { return held_B_[at(place)]; }
    // The first that waits for room at a place, or nowhere.
    std::int32_t waiting(std::int32_t place) const;
    bool has_changed() const { return !changed_.empty(); }
    std::vector<std::int32_t> changed();
    bool lets_in(const Entry &entry);
    // Notes that a task has asked for what it reads: where it is the last to do so, copies elsewhere may go.
    void asked(std::span<const std::int32_t> read);
    void finished(std::int32_t task, std::span<const std::int32_t> read);
    // Gives back what a task used that will be placed again, and the room for what it would have written.
    void aborted(std::int32_t task, std::int32_t place, std::span<const std::int32_t> written);
    void departs(const Message &message);
    void arrives(const Message &message);
    bool spilled(std::int32_t object, std::int32_t place);
    // Throws NoRoom if a task waits, for which `entry_of` says what it needs.
    void check_stuck(const std::function<Entry(std::int32_t)> &entry_of) const;

  private:
    struct Copy {
        std::int64_t size_B;
        std::int64_t uses = 0, last = 0;
        bool leaving = false;
    };

    std::int64_t need(const Entry &entry) const;
    bool takes(const Entry &entry);
    bool fits(std::int64_t need_B, const Entry &entry);
    void make_room(std::int64_t need_B, const Entry &entry);
    bool has_room(std::int64_t held_B, std::int64_t need_B, std::int32_t place) const;
    void drop(std::int32_t object, std::int32_t place);
    void drop_idle(std::int32_t object, std::int32_t place);
    void came(std::span<const std::int32_t> read);
    void give_back(std::int32_t task);
    void use(std::int32_t object, std::int32_t place);
    void release(std::int32_t object, std::int32_t place);
    Copy *copy(std::int32_t object, std::int32_t place);

    const DataPlan &plan_;
    const std::vector<std::int32_t> &at_place_;
    Leaves forget_, spill_;
    std::vector<std::int64_t> to_come_; // readers of each object that may still be placed
    std::vector<std::int64_t> held_B_, leaving_B_;
    std::vector<std::unordered_map<std::int32_t, Copy>> copies_;
    std::vector<std::vector<std::int32_t>> holders_; // places that have a copy of each object
    std::vector<std::deque<std::int32_t>> queues_;
    std::set<std::int32_t> changed_;
    std::unordered_map<std::int32_t, std::vector<std::pair<std::int32_t, std::int32_t>>> uses_;
    std::int64_t events_ = 0;
};

} // namespace simsched
