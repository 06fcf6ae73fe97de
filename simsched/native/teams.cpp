#include "teams.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

namespace simsched {

namespace {

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

class Woken final : public Job {
  public:
    void work(std::size_t) override { ns = clock_ns(); }
    void abort() override {}
    std::int64_t ns = 0;
};

} // namespace

Regions::Regions(std::size_t width, std::span<double> fork_s, std::span<double> join_s, bool shares_cpus)
    : slots_(width), fork_s_(fork_s), join_s_(join_s), wait_(shares_cpus) {
    if (width == 0 || fork_s.empty() || fork_s.size() != join_s.size())
        throw std::invalid_argument("regions need a thread or more, and a round or more");
}

void Regions::work(std::size_t worker) {
    Slot &slot = slots_[worker];
    if (met_.fetch_add(1, std::memory_order_acq_rel) + 1 == slots_.size())
        call();
    for (std::uint32_t seen = 0; seen < fork_s_.size(); ++seen) {
        while (slot.called.load(std::memory_order_acquire) == seen && !stopped())
            wait_();
        // Whoever calls itself never waits.
        if (stopped())
            return;
        slot.start_ns = clock_ns();
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            joined(clock_ns());
    }
}

void Regions::call() {
    left_.store(static_cast<std::uint32_t>(slots_.size()), std::memory_order_relaxed);
    called_ns_ = clock_ns();
    for (auto &slot : slots_)
        slot.called.fetch_add(1, std::memory_order_release);
}

void Regions::joined(std::int64_t now_ns) {
    std::int64_t last = 0;
    for (const auto &slot : slots_)
        last = std::max(last, slot.start_ns);
    fork_s_[round_] = seconds_of(last - called_ns_);
    join_s_[round_] = seconds_of(now_ns - last);
    if (++round_ < fork_s_.size())
        call();
}

bool wake_ups(Crew &crew, std::span<double> seconds, double asleep_s, double timeout_s,
              const std::function<void()> &tick) {
    for (auto &found : seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(asleep_s));
        const auto job = std::make_shared<Woken>();
        const auto from = clock_ns();
        if (!crew.run(job, 1, timeout_s, timeout_s, tick))
            return false;
        found = seconds_of(job->ns - from);
    }
    return true;
}

} // namespace simsched
