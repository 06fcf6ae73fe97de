#pragma once

#include "crew.hpp"
#include "csr.hpp"
#include "decision.hpp"
#include "program.hpp"
#include "replay.hpp"
#include "spinning.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// One real run of a task graph: the twin of replay.hpp, where time passes by itself. Choosers are those of
// the replay.

namespace simsched {

// ListScheduler or RuledPolicy, without its type.
class AnyChooser {
  public:
    virtual ~AnyChooser() = default;
    virtual void release(std::span<const std::int32_t> tasks, double now) = 0;
    virtual void finished(std::int32_t task) = 0;
    virtual bool next(double now, Decision &decision) = 0;
};

template <class Chooser> class Chosen final : public AnyChooser {
  public:
    explicit Chosen(Chooser &chooser) : chooser_(chooser) {}
    void release(std::span<const std::int32_t> tasks, double now) override { chooser_.release(tasks, now); }
    void finished(std::int32_t task) override { chooser_.finished(task); }
    bool next(double now, Decision &decision) override { return chooser_.next(now, decision); }

  private:
    Chooser &chooser_;
};

struct ExecutionSettings {
    std::size_t workers;
    // Executor e is the workers from e * width on; with 0 the decision's cores are the workers.
    std::size_t width;
    // Whether the last worker but those decides, and the others only run tasks.
    bool scheduler_thread;
    // Whether there may be fewer CPUs than threads.
    bool shares_cpus;
    // Whether to measure, before the run, how long a message from worker 0 to worker 1 takes.
    bool measures_latency;
};

class Execution final : public Job {
  public:
    struct Usage {
        double wall_s = 0, cpu_s = 0; // of the thread while the run lasted; it spins, so that both are equal
        std::int64_t preemptions = 0; // times that the system took its CPU away
        std::int32_t cpu = -1;        // where it was at the end
        std::uint64_t tasks = 0, sum = 0; // run as the first of a team; sum of `mixed`
    };
    struct Running {
        std::int32_t task;
        double since_s;
    };

    Execution(const Csr &successors, const Program &program, AnyChooser &chooser, const Results &out,
              const ExecutionSettings &settings);

    void work(std::size_t worker) override;
    void abort() override;
    std::size_t threads() const { return settings_.workers + settings_.scheduler_thread; }

    // At any time.
    std::size_t done() const { return n_done_.load(std::memory_order_relaxed); }
    // What a run was at when it was aborted: tasks done, and what each worker ran.
    struct Story {
        std::size_t done = 0;
        std::vector<Running> running;
    };
    const Story &story() const { return story_; }
    // After the run.
    const std::vector<Usage> &usage() const { return usage_; }
    double latency_s() const { return latency_s_; }
    const std::string &failure() const { return failure_; }

    // What a task adds to the sum by which lost and doubled ones are found.
    static std::uint64_t mixed(std::int32_t task) {
        auto x = static_cast<std::uint64_t>(task) + 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }

  private:
    // Two cache lines for what the one who decides writes, two for what the worker writes.
    struct alignas(128) Slot {
        std::atomic<std::uint32_t> called{0}; // counts the calls; the rest is written before
        std::int32_t task = 0;
        std::uint32_t rank = 0, width = 1;
        double seconds = 0;
        Slot *first = nullptr; // of the team

        alignas(128) std::atomic<std::uint32_t> left{0}; // of the team of which this is the first
        std::atomic<std::int32_t> ended{-1};             // task for the scheduler thread to take
        std::int64_t ended_ns = 0;
        std::atomic<std::int32_t> running{-1};
        std::atomic<std::int64_t> since_ns{0};
        std::uint64_t tasks = 0, sum = 0;
    };
    class Meter;

    void meet(std::atomic<std::size_t> &met);
    void measure_latency(std::size_t worker);
    void begin();
    void obey(std::size_t worker);
    void schedule();
    void perform(Slot &slot, std::size_t worker);
    void run(std::size_t task, Part part, std::size_t worker);
    void spin(double seconds, std::int64_t from_ns) const;
    void complete(std::int32_t task, std::int64_t finish_ns, std::int64_t now_ns);
    template <class Notify> void go_on(Notify &&notify, double released, double now);
    void release(double now);
    void decide(double now);
    void assign(const Decision &decision);
    void fail(const char *why);
    bool stopped() const { return stop_.load(std::memory_order_acquire); }
    double since_begin(std::int64_t ns) const { return static_cast<double>(ns - begin_ns_) * 1e-9; }

    const Csr after_;
    const Program &program_;
    AnyChooser &chooser_;
    const Results out_;
    const ExecutionSettings settings_;
    const Wait wait_;

    std::vector<Slot> slots_;
    std::vector<Usage> usage_;
    std::atomic<std::size_t> met_before_{0}, met_after_{0};
    alignas(128) std::atomic<std::uint32_t> ball_{0};
    alignas(128) std::atomic<bool> stop_{false};
    std::atomic<bool> aborted_{false};
    Story story_;

    // Guarded by the lock, or the scheduler thread's own:
    alignas(128) SpinLock lock_;
    std::vector<std::int32_t> waiting_, released_;
    Decision decision_{};
    std::atomic<std::size_t> n_done_{0};
    std::size_t n_begun_ = 0, n_running_ = 0;
    std::int64_t begin_ns_ = 0;
    double latency_s_ = 0;

    // Workers fail without the lock of decisions.
    SpinLock failing_;
    std::string failure_;
};

} // namespace simsched
