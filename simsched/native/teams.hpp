#pragma once

#include "crew.hpp"
#include "spinning.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

// What the threads of a crew cost when they have nothing to do.

namespace simsched {

// Empty regions of one team, forked and joined as in `Execution`: the last to leave one calls the next.
class Regions final : public Job {
  public:
    // Fills, for each round, the seconds from the call to the last thread's first instruction, and from there
    // until the last thread has been counted.
    Regions(std::size_t width, std::span<double> fork_s, std::span<double> join_s, bool shares_cpus);

    void work(std::size_t worker) override;
    void abort() override { stop_.store(true, std::memory_order_release); }

  private:
    struct alignas(128) Slot {
        std::atomic<std::uint32_t> called{0};
        alignas(128) std::int64_t start_ns = 0; // written by the worker alone
    };
    void call();
    void joined(std::int64_t now_ns);
    bool stopped() const { return stop_.load(std::memory_order_acquire); }

    std::vector<Slot> slots_;
    std::span<double> fork_s_, join_s_;
    const Wait wait_;
    std::atomic<std::size_t> met_{0};
    alignas(128) std::atomic<std::uint32_t> left_{0};
    alignas(128) std::atomic<bool> stop_{false};
    // Of the one who calls, and handed on with the count of those left:
    alignas(128) std::int64_t called_ns_ = 0;
    std::size_t round_ = 0;
};

// Wakes the first worker of a crew again and again, after it has slept for `asleep_s`, and fills the seconds
// until its first instruction. Returns whether each time was in time.
bool wake_ups(Crew &crew, std::span<double> seconds, double asleep_s, double timeout_s,
              const std::function<void()> &tick);

} // namespace simsched
