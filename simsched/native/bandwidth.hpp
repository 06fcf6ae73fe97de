#pragma once

#include "completion.hpp"
#include "decision.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// The one memory of a machine where running tasks share nothing else: the twin of
// simsched/replay/bandwidth.py.
class Bandwidth {
  public:
    struct Entry : Completion {
        double memory_share;
        std::int64_t demand_Bps;
    };

    explicit Bandwidth(double capacity_Bps) : capacity_Bps_(capacity_Bps) {}

    Entry begin(const Decision &decision, double now) {
        const auto &load = decision.load;
        demand_Bps_ += load.demand_Bps;
        return {{now + decision.seconds * stretch(load.memory_share, pressure_), decision.task},
                load.memory_share,
                load.demand_Bps};
    }

    void end(const Entry &entry) { demand_Bps_ -= entry.demand_Bps; }
    void feed(std::int32_t, std::span<const std::int32_t>) {}

    // Times what is left of the running tasks again where the pressure has changed; returns whether it has.
    bool update(std::vector<Entry> &running, double now) {
        const double before = pressure_;
        pressure_ = std::max(1.0, static_cast<double>(demand_Bps_) / capacity_Bps_);
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
    std::int64_t demand_Bps_ = 0; // whole bytes: adding and subtracting leaves no rest
    double pressure_ = 1.0;
};

} // namespace simsched
