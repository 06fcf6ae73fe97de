#include "data_state.hpp"

#include <algorithm>

namespace simsched {

DataState::DataState(const DataPlan &plan)
    : plan_(plan), mail_(plan), at_place_(plan.home.begin(), plan.home.end()),
      place_(plan.inputs.n(), nowhere), placed_s_(plan.inputs.n()), begun_s_(plan.inputs.n()),
      first_(plan.n_objects(), none), last_(plan.n_objects(), none), missing_(plan.inputs.n()),
      held_of_(plan.inputs.n()) {
    if (plan.read) {
        caches_.emplace(plan);
    } else {
        asked_.reserve(plan.inputs.indices.size());
        waiters_.reserve(plan.inputs.indices.size());
    }
    if (plan.limited)
        room_.emplace(
            plan, at_place_, [this](std::int32_t object, std::int32_t place) { forget(object, place); },
            [this](std::int32_t object, std::int32_t place) { spill(object, place); });
}

void DataState::open() {
    for (std::size_t task = 0; task < plan_.planned.size(); ++task)
        for (const auto object : row(plan_.inputs, task)) {
            const auto place = plan_.planned[task];
            if (moves(object) && (at_place_[at(object)] != nowhere || writer_elsewhere(object, place)))
                ask(object, place);
        }
}

// Whether an object that is planned to be written gets to a place only by being sent.
bool DataState::writer_elsewhere(std::int32_t object, std::int32_t place) const {
    return plan_.through != nowhere || plan_.planned[at(plan_.producer[at(object)])] != place;
}

double DataState::missing_s(std::int32_t task, std::int32_t thread, bool longest) const {
    const auto place = plan_.place_of[at(thread)];
    double total = 0.0;
    for (const auto object : row(plan_.inputs, at(task))) {
        if (is_near(object, place))
            continue;
        const auto from = where(object);
        const auto way =
            plan_.way(from == nowhere ? static_cast<std::int32_t>(plan_.n_places()) - 1 : from, place);
        const auto seconds = plan_.latency_s[way] + plan_.size_B[at(object)] * plan_.s_per_B[way];
        total = longest ? std::max(total, seconds) : total + seconds;
    }
    return total;
}

std::pair<double, double> DataState::missing_B(std::int32_t task, std::int32_t thread) const {
    const auto place = plan_.place_of[at(thread)];
    double absent = 0.0, unasked = 0.0;
    for (const auto object : row(plan_.inputs, at(task))) {
        const auto found = caches_ ? none : asked(object, place);
        const bool there =
            caches_ ? caches_->has(object, place)
                    : at_place_[at(object)] == place || (found != none && asked_[found].way == Way::there);
        if (there || !moves(object))
            continue;
        absent += plan_.size_B[at(object)];
        if (found == none)
            unasked += plan_.size_B[at(object)];
    }
    return {absent, unasked};
}

void DataState::prefetch(std::int32_t task, std::int32_t thread, double now) {
    if (caches_ || room_)
        return;
    const auto place = plan_.place_of[at(thread)];
    now_ = now;
    for (const auto object : row(plan_.inputs, at(task)))
        if (moves(object) && at_place_[at(object)] != place)
            ask(object, place);
}

bool DataState::placed(const Decision &decision, double now) {
    const auto task = at(decision.task);
    now_ = now;
    place_[task] = plan_.place_of[at(decision.cores.front())];
    placed_s_[task] = now;
    if ((room_ && !room_->enters(entry(decision.task))) || !fetched(decision.task)) {
        hold(decision, false);
        return false;
    }
    return true;
}

DataState::Held &DataState::hold(const Decision &decision, bool reads) {
    if (free_.empty()) {
        free_.push_back(held_.size());
        held_.emplace_back();
    }
    const auto slot = held_of_[at(decision.task)] = free_.back();
    free_.pop_back();
    auto &held = held_[slot];
    held.decision = decision;
    held.cores.assign(decision.cores.begin(), decision.cores.end());
    held.reads = reads;
    return held;
}

// What a task needs at its place.
Entry DataState::entry(std::int32_t task) const {
    const auto here = place_[at(task)];
    const auto written = row(plan_.written, at(task));
    Entry found{task, here, {written.begin(), written.end()}, {}};
    for (const auto object : moved(task)) {
        found.used.push_back({object, caches_ ? at_place_[at(object)] : here});
        if (!caches_ && !near(object, here))
            found.fresh.push_back(object);
    }
    for (const auto object : written)
        found.used.push_back({object, here});
    return found;
}

// The objects that a task reads, less the inputs that are everywhere.
std::vector<std::int32_t> DataState::moved(std::int32_t task) const {
    std::vector<std::int32_t> found;
    for (const auto object : row(plan_.inputs, at(task)))
        if (moves(object))
            found.push_back(object);
    return found;
}

// Whether an object is at a place, or was asked for there.
bool DataState::near(std::int32_t object, std::int32_t place) const {
    return (at_place_[at(object)] == place && plan_.through != place) || asked(object, place) != none;
}

// Asks for what a task reads; returns whether it can begin.
bool DataState::fetched(std::int32_t task) {
    const auto here = place_[at(task)];
    for (const auto object : row(plan_.inputs, at(task))) {
        if (caches_ || !moves(object) || at_place_[at(object)] == here)
            continue;
        const auto found = ask(object, here);
        if (asked_[found].way == Way::there)
            continue;
        waiters_.push_back({task, asked_[found].waiter});
        asked_[found].waiter = static_cast<std::uint32_t>(waiters_.size() - 1);
        ++missing_[at(task)];
    }
    if (room_)
        room_->asked(moved(task));
    return !missing_[at(task)];
}

bool DataState::computes(const Decision &decision, double now) {
    const auto task = decision.task;
    now_ = now;
    if (caches_) {
        reads_.clear();
        caches_->read(row(plan_.inputs, at(task)), place_[at(task)], at_place_, reads_);
        std::reverse(reads_.begin(), reads_.end());
        if (!read_on(task, reads_)) {
            hold(decision, true).left.swap(reads_);
            return false;
        }
    }
    begun_s_[at(task)] = now;
    return true;
}

// Reads one object after another; returns whether a task has read all.
bool DataState::read_on(std::int32_t task, Reads &reads) {
    while (!reads.empty()) {
        const auto [object, source] = reads.back();
        reads.pop_back();
        const auto number = mail_.send(object, source, place_[at(task)], now_, task);
        if (!mail_[number].there())
            return false;
    }
    return true;
}

std::uint32_t DataState::asked(std::int32_t object, std::int32_t place) const {
    for (auto i = first_[at(object)]; i != none; i = asked_[i].next)
        if (asked_[i].place == place && asked_[i].way != Way::gone)
            return i;
    return none;
}

// Has an object sent to a place once; later, where it is nowhere yet.
std::uint32_t DataState::ask(std::int32_t object, std::int32_t place) {
    if (const auto found = asked(object, place); found != none)
        return found;
    const auto added = static_cast<std::uint32_t>(asked_.size()), last = last_[at(object)];
    const bool here = at_place_[at(object)] != nowhere;
    asked_.push_back({place, here ? Way::sent : Way::wanted, none, none});
    (last == none ? first_[at(object)] : asked_[last].next) = added;
    last_[at(object)] = added;
    if (here)
        send(object, at_place_[at(object)], place);
    return added;
}

std::size_t DataState::send(std::int32_t object, std::int32_t source, std::int32_t place) {
    const auto number = mail_.send(object, source, place, now_);
    if (room_)
        room_->departs(mail_[number]);
    if (mail_[number].there())
        arrived(number);
    return number;
}

// Sends an object, from where it now is, to the places that want it.
void DataState::available(std::int32_t object, std::int32_t place) {
    at_place_[at(object)] = place;
    for (auto i = first_[at(object)]; i != none; i = asked_[i].next)
        if (asked_[i].way == Way::wanted) {
            asked_[i].way = Way::sent;
            send(object, place, asked_[i].place);
        }
}

void DataState::finished(std::int32_t task, double now) {
    const auto here = place_[at(task)];
    const auto written = row(plan_.written, at(task));
    now_ = now;
    if (caches_)
        caches_->write(written, here);
    for (const auto object : written) {
        const auto to = plan_.goes_to[at(object)];
        if (plan_.through == nowhere)
            available(object, here);
        if (to != nowhere && to != here)
            send(object, here, to);
    }
    if (room_)
        room_->finished(task, moved(task));
}

void DataState::aborted(std::int32_t task) {
    if (room_)
        room_->aborted(task, place_[at(task)], row(plan_.written, at(task)));
}

void DataState::arrived(std::size_t number) {
    const auto message = mail_[number];
    const auto object = message.object;
    if (const auto found = asked(object, message.place); found != none) {
        for (auto i = asked_[found].waiter; i != none; i = waiters_[i].next)
            if (!--missing_[at(waiters_[i].task)])
                startable_.push_back(waiters_[i].task);
        asked_[found].waiter = none;
        asked_[found].way = Way::there;
    }
    if (room_) {
        room_->arrives(message);
        if (spills_.contains(number) && room_->spilled(object, message.source)) {
            at_place_[at(object)] = message.place;
            if (caches_)
                caches_->leave(object, message.source);
        }
    }
    if (message.place == plan_.through && at_place_[at(object)] == nowhere)
        available(object, message.place);
}

void DataState::forget(std::int32_t object, std::int32_t place) {
    if (const auto found = asked(object, place); found != none && asked_[found].way == Way::there)
        asked_[found].way = Way::gone; // what is still on its way stays asked for
}

void DataState::spill(std::int32_t object, std::int32_t place) {
    spills_.insert(mail_.sent().size());
    send(object, place, plan_.below(place, object));
}

void DataState::receive(double now) {
    now_ = now;
    due_.clear();
    mail_.due(now, due_);
    for (const auto &[number, slot] : due_) {
        if (!mail_.happened(slot, now))
            continue;
        const auto task = mail_[number].reader;
        if (task == nowhere) {
            arrived(number);
        } else if (read_on(task, held_[held_of_[at(task)]].left)) {
            begun_s_[at(task)] = now;
            startable_.push_back(task);
        }
    }
    if (room_)
        let_in();
}

void DataState::let_in() {
    for (auto places = room_->changed(); !places.empty(); places = room_->changed())
        for (const auto place : places)
            for (auto task = room_->waiting(place); task != nowhere && room_->lets_in(entry(task));
                 task = room_->waiting(place))
                if (fetched(task))
                    startable_.push_back(task);
}

void DataState::check_stuck() {
    if (room_)
        room_->check_stuck([this](std::int32_t task) { return entry(task); });
}

} // namespace simsched
