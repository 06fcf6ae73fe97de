#include "bandwidth.hpp"

#include "clones.hpp"

namespace simsched {

namespace {

SIMSCHED_CLONES void retime(double *times, const double *shares, std::size_t n, double now, double pressure,
                            double before) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double share = shares[i], time = times[i];
        const double factor = ((1.0 - share) + share * pressure) / ((1.0 - share) + share * before);
        times[i] = share != 0 ? now + (time - now) * factor : time;
    }
}

} // namespace

void Bandwidth::update(double now) {
    const double before = pressure_;
    pressure_ = pressure(demand_Bps_, bound_Bps_, capacity_Bps_);
    if (pressure_ == before)
        return;
    const auto times = running_.times();
    retime(times.data(), shares_.data(), times.size(), now, pressure_, before);
    running_.changed();
}

} // namespace simsched
