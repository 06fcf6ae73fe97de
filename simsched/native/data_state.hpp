#pragma once

#include "caches.hpp"
#include "data.hpp"
#include "decision.hpp"
#include "messages.hpp"
#include "room.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

// The data of a running replay: the twin of simsched/replay/data_state.py.

namespace simsched {

class DataState {
  public:
    // The plan's columns have to outlive the state.
    explicit DataState(const DataPlan &plan);
    DataState(const DataState &) = delete;

    // Asks for what planned tasks read.
    void open();
    // Notes where a task runs; returns whether it can begin, rather than wait for room or for what it reads.
    bool placed(const Decision &decision, double now);
    // Returns whether a task that starts computes at once, rather than read from afar first.
    bool computes(const Decision &decision, double now);
    void finished(std::int32_t task, double now);
    // Gives back the room of a task that starts anew later, and of what it would have written.
    void aborted(std::int32_t task);
    // When something happens next to what is on its way.
    double next() { return mail_.next(); }
    // Handles what happens to messages now, and calls begin(decision, computes): of tasks that can start, or
    // have read all and compute, ascending.
    template <class Begin> void settle(double now, Begin &&begin) {
        receive(now);
        if (startable_.empty())
            return;
        std::sort(startable_.begin(), startable_.end());
        starting_.clear();
        starting_.swap(startable_);
        for (const auto task : starting_) {
            const auto slot = held_of_[at(task)];
            Held &held = held_[slot];
            held.decision.cores = held.cores;
            begin(held.decision, held.reads);
            free_.push_back(slot);
        }
    }
    // Whether room may have become free since tasks were let in.
    bool has_room() const { return room_ && room_->has_changed(); }
    void update(double now) { mail_.update(now); }
    void check_stuck();

    // Whether an object is at a place, or on its way there; inputs that are everywhere are at each.
    bool is_near(std::int32_t object, std::int32_t place) const {
        return !moves(object) || (caches_ ? caches_->has(object, place) : near(object, place));
    }
    // Whence an object is sent or read, or nowhere.
    std::int32_t where(std::int32_t object) const { return at_place_[at(object)]; }
    // How far an object is on its way to a place, if it is.
    std::optional<OnWay> on_way(std::int32_t object, std::int32_t place) const {
        return mail_.on_way(object, place);
    }
    // The objects that a task would read from afar at a place, each with whence; none where they are sent.
    std::vector<std::pair<std::int32_t, std::int32_t>> far(std::int32_t task, std::int32_t place) const {
        if (!caches_)
            return {};
        return caches_->far(row(plan_.inputs, at(task)), place, at_place_);
    }
    // Seconds that what a task misses takes to a thread's place, one after another or the longest.
    double missing_s(std::int32_t task, std::int32_t thread, bool longest) const;
    // The bytes that a task reads and that are not at a thread's place, and those not on their way either.
    std::pair<double, double> missing_B(std::int32_t task, std::int32_t thread) const;
    // Asks for what a task reads at the place of a thread, before the task is placed there.
    void prefetch(std::int32_t task, std::int32_t thread, double now);
    // The bytes taken at a place; 0 where they are not counted.
    std::int64_t held_B(std::int32_t place) const { return room_ ? room_->held_B(place) : 0; }

    const std::vector<Message> &messages() const { return mail_.sent(); }
    const std::vector<double> &placed_s() const { return placed_s_; }
    const std::vector<double> &begun_s() const { return begun_s_; }

  private:
    // Objects and whence they are read, the first one last.
    using Reads = std::vector<std::pair<std::int32_t, std::int32_t>>;
    // A task that waits on its team; the threads of its decision may be gone by then.
    struct Held {
        Decision decision;
        std::vector<std::int32_t> cores;
        bool reads;
        Reads left;
    };
    enum class Way : std::int8_t { wanted, sent, there, gone };
    // An object that was asked for at a place, and the tasks that wait for it there.
    struct Asked {
        std::int32_t place;
        Way way;
        std::uint32_t next, waiter;
    };
    struct Waiter {
        std::int32_t task;
        std::uint32_t next;
    };

    bool moves(std::int32_t object) const {
        return plan_.producer[at(object)] >= 0 || at_place_[at(object)] != nowhere;
    }
    bool writer_elsewhere(std::int32_t object, std::int32_t place) const;
    Entry entry(std::int32_t task) const;
    std::vector<std::int32_t> moved(std::int32_t task) const;
    bool near(std::int32_t object, std::int32_t place) const;
    bool fetched(std::int32_t task);
    bool read_on(std::int32_t task, Reads &reads);
    std::uint32_t asked(std::int32_t object, std::int32_t place) const;
    std::uint32_t ask(std::int32_t object, std::int32_t place);
    std::size_t send(std::int32_t object, std::int32_t source, std::int32_t place);
    void available(std::int32_t object, std::int32_t place);
    void arrived(std::size_t number);
    void forget(std::int32_t object, std::int32_t place);
    void spill(std::int32_t object, std::int32_t place);
    void receive(double now);
    void let_in();
    Held &hold(const Decision &decision, bool reads);

    static constexpr std::uint32_t none = UINT32_MAX;

    const DataPlan &plan_;
    Mail mail_;
    std::vector<std::int32_t> at_place_; // whence each object is sent or read
    std::vector<std::int32_t> place_;    // of each task
    std::vector<double> placed_s_, begun_s_;
    std::vector<std::uint32_t> first_, last_; // of each object in asked_
    std::vector<Asked> asked_;
    std::vector<Waiter> waiters_;
    std::vector<std::int32_t> missing_; // objects that each task waits for
    // Tasks that wait, by slot, which are used again, so that none allocates; and the slot of each task.
    std::deque<Held> held_;
    std::vector<std::size_t> free_, held_of_;
    std::vector<std::int32_t> startable_, starting_;
    std::vector<std::pair<std::size_t, std::size_t>> due_;
    Reads reads_; // of a task that starts
    std::unordered_set<std::size_t> spills_;
    std::optional<Caches> caches_;
    std::optional<Room> room_;
    double now_ = 0;
};

} // namespace simsched
