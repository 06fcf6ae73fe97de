#pragma once

#include "crew.hpp"
#include "spinning.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

// What a host does by itself, without a task: cycles, triads, cache lines between two cores.

namespace simsched {

// Rounds of the same body on all workers, who meet before each. Fills when each worker began and ended each
// round, in nanoseconds, at worker * rounds + round.
class Probe : public Job {
  public:
    Probe(std::size_t width, std::span<std::int64_t> begin_ns, std::span<std::int64_t> end_ns);

    void work(std::size_t worker) final;
    void abort() override { stop_.store(true, std::memory_order_release); }

  protected:
    virtual void prepare(std::size_t) {}
    virtual void body(std::size_t worker, std::size_t round) = 0;
    bool stopped() const { return stop_.load(std::memory_order_acquire); }

    const std::size_t width_;

  private:
    bool meet(std::size_t times);

    const std::size_t rounds_;
    std::span<std::int64_t> begin_ns_, end_ns_;
    alignas(128) std::atomic<std::size_t> met_{0};
    alignas(128) std::atomic<bool> stop_{false};
};

// Additions that each wait for the one before: one a cycle.
class Additions final : public Probe {
  public:
    Additions(std::size_t width, std::size_t count, std::span<std::int64_t> begin_ns,
              std::span<std::int64_t> end_ns)
        : Probe(width, begin_ns, end_ns), count_(count) {}

  private:
    void body(std::size_t worker, std::size_t round) override;
    const std::size_t count_;
};

// a = b + s c on arrays of doubles, one set a worker, written first by the worker that `homes` names for it.
// Workers without elements only write.
class Triads final : public Probe {
  public:
    Triads(std::vector<std::int32_t> homes, std::vector<std::int64_t> elements,
           std::span<std::int64_t> begin_ns, std::span<std::int64_t> end_ns);

  private:
    void prepare(std::size_t worker) override;
    void body(std::size_t worker, std::size_t round) override;
    const std::vector<std::int32_t> homes_;
    std::vector<std::unique_ptr<double[]>> arrays_;
    const std::vector<std::int64_t> elements_;
};

// A cache line sent there and back `count` times a round, between two workers.
class Returns final : public Probe {
  public:
    Returns(std::size_t count, std::span<std::int64_t> begin_ns, std::span<std::int64_t> end_ns)
        : Probe(2, begin_ns, end_ns), count_(count) {}

  private:
    void body(std::size_t worker, std::size_t round) override;
    const std::size_t count_;
    alignas(128) std::atomic<std::uint64_t> line_{0};
};

} // namespace simsched
