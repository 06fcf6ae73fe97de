#pragma once

#include <algorithm>
#include <cstdint>

namespace simsched {

// Memory bandwidth that running tasks share: the twin of simsched/replay/bandwidth.py.
class Bandwidth {
  public:
    explicit Bandwidth(double capacity_Bps) : capacity_Bps_(capacity_Bps) {}

    // How much longer a task takes of which this share is bound by the memory.
    double stretch(double share) const { return stretch(share, pressure_); }

    void begin(std::int64_t demand_Bps) { demand_Bps_ += demand_Bps; }
    void end(std::int64_t demand_Bps) { demand_Bps_ -= demand_Bps; }

    // Where the pressure on the memory has changed, calls visit with a function that gives, for a memory
    // share, the factor on the seconds that are left.
    template <class Visit> void update(Visit &&visit) {
        const double before = pressure_;
        pressure_ = std::max(1.0, static_cast<double>(demand_Bps_) / capacity_Bps_);
        if (pressure_ != before)
            visit([&](double share) { return stretch(share, pressure_) / stretch(share, before); });
    }

  private:
    static double stretch(double share, double pressure) { return (1.0 - share) + share * pressure; }

    double capacity_Bps_;
    std::int64_t demand_Bps_ = 0; // whole bytes: adding and subtracting leaves no rest
    double pressure_ = 1.0;
};

} // namespace simsched
