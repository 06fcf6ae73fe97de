#pragma once

#include "decision.hpp"
#include "running.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Twins of the functions of the same names in simsched/replay/contention.py.
inline double pressure(std::int64_t demand_Bps, std::int64_t bound_Bps, double capacity_Bps) {
    const auto demand = static_cast<double>(demand_Bps);
    if (demand <= capacity_Bps || !bound_Bps)
        return 1.0;
    return 1.0 + (demand / capacity_Bps - 1.0) * (demand / static_cast<double>(bound_Bps));
}

inline std::int64_t bound(const Load &load) {
    return static_cast<std::int64_t>(static_cast<double>(load.demand_Bps) * load.memory_share);
}

// The one memory of a machine where running tasks share nothing else: the twin of
// simsched/replay/contention.py.
class Bandwidth {
  public:
    explicit Bandwidth(double capacity_Bps) : capacity_Bps_(capacity_Bps) {}

    void begin(const Decision &decision, double now) {
        const auto &load = decision.load;
        const auto slot =
            running_.begin(now + decision.seconds * slowdown(load.memory_share, pressure_), decision.task);
        if (slot == shares_.size()) {
            shares_.push_back(0.0);
            asked_.push_back({});
        }
        shares_[slot] = load.memory_share;
        asked_[slot] = {load.demand_Bps, bound(load)};
        demand_Bps_ += asked_[slot].demand_Bps;
        bound_Bps_ += asked_[slot].bound_Bps;
    }
    bool end(double now, std::int32_t &task) {
        std::size_t slot;
        if (!running_.due(now, slot))
            return false;
        task = running_.task(slot);
        leave(slot);
        running_.end(slot);
        running_.release(slot);
        return true;
    }
    // Takes out a task that starts anew later.
    void abort(std::int32_t task) {
        const auto slot = running_.slot(task);
        leave(slot);
        running_.abort(slot);
    }
    bool empty() const { return running_.empty(); }
    double next() { return running_.next(); }
    void feed(std::int32_t, std::span<const std::int32_t>) {}

    // Times what is left of the running tasks again where the pressure has changed.
    void update(double now);

  private:
    struct Asked {
        std::int64_t demand_Bps, bound_Bps;
    };
    void leave(std::size_t slot) {
        demand_Bps_ -= asked_[slot].demand_Bps;
        bound_Bps_ -= asked_[slot].bound_Bps;
    }
    static double slowdown(double share, double pressure) { return (1.0 - share) + share * pressure; }

    Running running_;
    std::vector<double> shares_; // by slot
    std::vector<Asked> asked_;
    double capacity_Bps_;
    std::int64_t demand_Bps_ = 0, bound_Bps_ = 0; // whole bytes: adding and subtracting leaves no rest
    double pressure_ = 1.0;
};

} // namespace simsched
