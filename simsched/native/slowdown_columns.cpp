#include "slowdown_columns.hpp"

#include "clones.hpp"

namespace simsched {

namespace {

SIMSCHED_CLONES void retime_each(SlowdownColumns &columns, double *times, std::size_t first, std::size_t last,
                                 double now) {
    double *slowdown = columns.slowdown.data();
#pragma omp simd
    for (std::size_t slot = first; slot < last; ++slot) {
        const double current = columns.current(slot), before = slowdown[slot], time = times[slot];
        const double changed = now + (time - now) * (current / before);
        times[slot] = current == before ? time : changed;
        slowdown[slot] = current;
    }
}

SIMSCHED_CLONES void add_each(double *memory, const double *local, const double *remote, double near,
                              double far, std::size_t first, std::size_t last) {
#pragma omp simd
    for (std::size_t slot = first; slot < last; ++slot)
        memory[slot] = (memory[slot] + local[slot] * near) + remote[slot] * far;
}

} // namespace

void SlowdownColumns::resize(std::size_t n) {
    for (auto *ones : {&work, &memory, &around, &slowdown})
        ones->resize(n, 1.0);
    for (auto *shares : {&memory_share, &overhead})
        shares->resize(n, 0.0);
}

void SlowdownColumns::clear(std::size_t slot) {
    work[slot] = slowdown[slot] = 1.0;
    memory_share[slot] = overhead[slot] = 0.0;
}

void SlowdownColumns::retime(std::span<double> times, std::size_t first, std::size_t last, double now) {
    retime_each(*this, times.data(), first, last, now);
}

void SlowdownColumns::add_memory(const std::vector<double> &local, const std::vector<double> &remote,
                                 double near, double far, std::size_t first, std::size_t last) {
    add_each(memory.data(), local.data(), remote.data(), near, far, first, last);
}

} // namespace simsched
