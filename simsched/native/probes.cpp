#include "probes.hpp"

#include <memory>
#include <stdexcept>

namespace simsched {

Probe::Probe(std::size_t width, std::span<std::int64_t> begin_ns, std::span<std::int64_t> end_ns)
    : width_(width), rounds_(width ? begin_ns.size() / width : 0), begin_ns_(begin_ns), end_ns_(end_ns) {
    if (rounds_ == 0 || begin_ns.size() != width * rounds_ || end_ns.size() != begin_ns.size())
        throw std::invalid_argument("probes need a worker or more, and a round or more");
}

bool Probe::meet(std::size_t times) {
    met_.fetch_add(1, std::memory_order_acq_rel);
    while (met_.load(std::memory_order_acquire) < times * width_ && !stopped())
        pause();
    return !stopped();
}

void Probe::work(std::size_t worker) {
    prepare(worker);
    for (std::size_t round = 0; round < rounds_; ++round) {
        if (!meet(round + 1))
            return;
        const auto place = worker * rounds_ + round;
        begin_ns_[place] = clock_ns();
        body(worker, round);
        end_ns_[place] = clock_ns();
    }
}

void Additions::body(std::size_t, std::size_t) {
    // A register is added: some cores add constants in no time. The empty instruction keeps each addition.
    std::uint64_t sum = 0, one = 1;
    asm volatile("" : "+r"(one));
    for (std::size_t i = 0; i < count_; i += 16) {
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) {
            sum += one;
            asm volatile("" : "+r"(sum));
        }
    }
}

Triads::Triads(std::vector<std::int32_t> homes, std::vector<std::int64_t> elements,
               std::span<std::int64_t> begin_ns, std::span<std::int64_t> end_ns)
    : Probe(homes.size(), begin_ns, end_ns), homes_(std::move(homes)), elements_(std::move(elements)) {
    if (elements_.size() != homes_.size())
        throw std::invalid_argument("triads need a home and a number of elements for each worker");
    for (std::size_t i = 0; i < homes_.size(); ++i) {
        if (homes_[i] < 0 || static_cast<std::size_t>(homes_[i]) >= homes_.size() || elements_[i] < 0)
            throw std::invalid_argument("homes are workers, and elements zero or more");
        // Not written here: a page lies where it is first written.
        arrays_.emplace_back(new double[3 * static_cast<std::size_t>(elements_[i])]);
    }
}

void Triads::prepare(std::size_t worker) {
    for (std::size_t i = 0; i < homes_.size(); ++i)
        if (static_cast<std::size_t>(homes_[i]) == worker)
            for (std::int64_t k = 0; k < 3 * elements_[i]; ++k)
                arrays_[i][static_cast<std::size_t>(k)] = 1.0;
}

void Triads::body(std::size_t worker, std::size_t) {
    const auto n = static_cast<std::size_t>(elements_[worker]);
    double *__restrict a = arrays_[worker].get();
    const double *__restrict b = a + n, *__restrict c = b + n;
    for (std::size_t i = 0; i < n; ++i)
        a[i] = b[i] + 0.5 * c[i];
    asm volatile("" : : "r"(a) : "memory");
}

void Returns::body(std::size_t worker, std::size_t round) {
    const auto first = 2 * count_ * round;
    for (std::uint64_t i = 0; i < count_; ++i) {
        const auto mine = first + 2 * i + worker;
        while (line_.load(std::memory_order_acquire) != mine)
            if (stopped())
                return;
        line_.store(mine + 1, std::memory_order_release);
    }
}

} // namespace simsched
