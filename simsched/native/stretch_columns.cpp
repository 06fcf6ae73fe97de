#include "stretch_columns.hpp"

#include "clones.hpp"

namespace simsched {

namespace {

SIMSCHED_CLONES void retime_each(StretchColumns &columns, double *times, std::size_t first, std::size_t last,
                                 double now) {
    double *stretch = columns.stretch.data();
#pragma omp simd
    for (std::size_t slot = first; slot < last; ++slot) {
        const double stretched = columns.stretched(slot), before = stretch[slot], time = times[slot];
        const double changed = now + (time - now) * (stretched / before);
        times[slot] = stretched == before ? time : changed;
        stretch[slot] = stretched;
    }
}

SIMSCHED_CLONES void add_each(double *memory, const double *local, const double *remote, double near,
                              double far, std::size_t first, std::size_t last) {
#pragma omp simd
    for (std::size_t slot = first; slot < last; ++slot)
        memory[slot] = (memory[slot] + local[slot] * near) + remote[slot] * far;
}

} // namespace

void StretchColumns::resize(std::size_t n) {
    for (auto *ones : {&work, &memory, &around, &stretch})
        ones->resize(n, 1.0);
    for (auto *shares : {&memory_share, &overhead})
        shares->resize(n, 0.0);
}

void StretchColumns::clear(std::size_t slot) {
    work[slot] = stretch[slot] = 1.0;
    memory_share[slot] = overhead[slot] = 0.0;
}

void StretchColumns::retime(std::span<double> times, std::size_t first, std::size_t last, double now) {
    retime_each(*this, times.data(), first, last, now);
}

void StretchColumns::add_memory(const std::vector<double> &local, const std::vector<double> &remote,
                                double near, double far, std::size_t first, std::size_t last) {
    add_each(memory.data(), local.data(), remote.data(), near, far, first, last);
}

} // namespace simsched
