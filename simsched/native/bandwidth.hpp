#pragma once

#include "completion.hpp"
#include "decision.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Twins of the functions of the same names in simsched/replay/bandwidth.py.
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
// simsched/replay/bandwidth.py.
class Bandwidth {
  public:
    struct Entry : Completion {
        double memory_share;
        std::int64_t demand_Bps, bound_Bps;
    };

    explicit Bandwidth(double capacity_Bps) : capacity_Bps_(capacity_Bps) {}

    Entry begin(const Decision &decision, double now) {
        const auto &load = decision.load;
        const auto bound_Bps = bound(load);
        demand_Bps_ += load.demand_Bps;
        bound_Bps_ += bound_Bps;
        return {{now + decision.seconds * stretch(load.memory_share, pressure_), decision.task},
                load.memory_share,
                load.demand_Bps,
                bound_Bps};
    }

    void end(const Entry &entry) {
        demand_Bps_ -= entry.demand_Bps;
        bound_Bps_ -= entry.bound_Bps;
    }
    void feed(std::int32_t, std::span<const std::int32_t>) {}

    // Times what is left of the running tasks again where the pressure has changed; returns whether it has.
    bool update(std::vector<Entry> &running, double now) {
        const double before = pressure_;
        pressure_ = pressure(demand_Bps_, bound_Bps_, capacity_Bps_);
        if (pressure_ == before)
            return false;
        for (auto &entry : running)
            if (entry.memory_share != 0)
                entry.time = now + (entry.time - now) * (stretch(entry.memory_share, pressure_) /
                                                         stretch(entry.memory_share, before));
        return true;
    }

  private:
    static double stretch(double share, double pressure) { return (1.0 - share) + share * pressure; }

    double capacity_Bps_;
    std::int64_t demand_Bps_ = 0, bound_Bps_ = 0; // whole bytes: adding and subtracting leaves no rest
    double pressure_ = 1.0;
};

} // namespace simsched
