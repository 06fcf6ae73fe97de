#include "execution.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <sys/resource.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace simsched {

namespace {

// Numbers too small to be normal count as zero while a worker works: they would take a hundred times as long,
// and a graph that is run again and again comes upon them.
class FlushToZero {
  public:
#if defined(__SSE__)
    FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~FlushToZero() { _mm_setcsr(before_); }

  private:
    unsigned before_;
#endif
};

constexpr std::uint32_t messages = 200; // there and back

} // namespace

// What a thread uses between two points.
class Execution::Meter {
  public:
    // The wall clock is looked at last and first, so that looking at the others counts as no stolen time.
    Meter() : preemptions_(preemptions()), cpu_ns_(clock_ns(CLOCK_THREAD_CPUTIME_ID)), wall_ns_(clock_ns()) {}
    void read(Usage &usage) const {
        usage.wall_s = static_cast<double>(clock_ns() - wall_ns_) * 1e-9;
        usage.cpu_s = static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns_) * 1e-9;
        usage.preemptions = preemptions() - preemptions_;
        usage.cpu = sched_getcpu();
    }

  private:
    static std::int64_t preemptions() {
        rusage used;
        return getrusage(RUSAGE_THREAD, &used) ? 0 : used.ru_nivcsw;
    }
    std::int64_t preemptions_, cpu_ns_, wall_ns_;
};

Execution::Execution(const Csr &successors, const Program &program, AnyChooser &chooser, const Results &out,
                     const ExecutionSettings &settings)
    : after_(successors), program_(program), chooser_(chooser), out_(out), settings_(settings),
      wait_(settings.shares_cpus), slots_(settings.workers), usage_(threads()), lock_(wait_),
      waiting_(successors.n()), failing_(wait_) {
    if (settings.workers == 0 || program.n_tasks() != successors.n())
        throw std::invalid_argument("a run needs workers, and a program with one entry a task");
    if (settings.measures_latency && threads() < 2)
        throw std::invalid_argument("a message needs two threads");
    std::fill(out.ready_s.begin(), out.ready_s.end(), 0.0);
    for (const auto follower : after_.indices)
        ++waiting_[static_cast<std::size_t>(follower)];
    released_.reserve(successors.n());
    story_.running.reserve(settings.workers); // so that nothing can fail while a run is aborted
}

void Execution::work(std::size_t worker) {
    const FlushToZero flush;
    meet(met_before_);
    if (settings_.measures_latency)
        measure_latency(worker);
    const Meter meter;
    const bool schedules = settings_.scheduler_thread && worker == settings_.workers;
    // The scheduler thread decides the first time, too; else the last to come does.
    if (met_after_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads() && !settings_.scheduler_thread)
        begin();
    if (schedules)
        schedule();
    else
        obey(worker);
    meter.read(usage_[worker]);
    if (!schedules) {
        usage_[worker].tasks = slots_[worker].tasks;
        usage_[worker].sum = slots_[worker].sum;
    }
}

void Execution::abort() {
    const auto now = clock_ns();
    story_.done = done();
    for (const auto &slot : slots_)
        story_.running.push_back(
            {slot.running.load(std::memory_order_relaxed),
             static_cast<double>(now - slot.since_ns.load(std::memory_order_relaxed)) * 1e-9});
    aborted_.store(true, std::memory_order_release);
    stop_.store(true, std::memory_order_release);
}

void Execution::meet(std::atomic<std::size_t> &met) {
    met.fetch_add(1, std::memory_order_acq_rel);
    while (met.load(std::memory_order_acquire) < threads() && !stopped())
        wait_();
}

// A ball goes back and forth; the fastest of a few rounds, for one that was interrupted says nothing.
void Execution::measure_latency(std::size_t worker) {
    if (worker > 1)
        return;
    const auto mine = static_cast<std::uint32_t>(worker);
    std::int64_t best = INT64_MAX, from = clock_ns();
    for (std::uint32_t i = 0; i < messages && !stopped(); ++i) {
        while (ball_.load(std::memory_order_acquire) != 2 * i + mine)
            if (stopped())
                return;
        ball_.store(2 * i + mine + 1, std::memory_order_release);
        if (i % 20 == 19) {
            const auto now = clock_ns();
            best = std::min(best, now - from);
            from = now;
        }
    }
    if (worker == 0)
        latency_s_ = static_cast<double>(best) * 1e-9 / 40;
}

void Execution::begin() {
    const std::lock_guard locked(lock_);
    begin_ns_ = clock_ns();
    for (std::size_t task = 0; task < waiting_.size(); ++task)
        if (!waiting_[task])
            released_.push_back(static_cast<std::int32_t>(task));
    go_on([] {}, 0, 0);
}

void Execution::obey(std::size_t worker) {
    Slot &slot = slots_[worker];
    for (std::uint32_t seen = 0;; ++seen) {
        while (slot.called.load(std::memory_order_acquire) == seen) {
            if (stopped())
                return;
            wait_();
        }
        perform(slot, worker);
    }
}

void Execution::perform(Slot &slot, std::size_t worker) {
    const auto task = slot.task;
    const auto t = static_cast<std::size_t>(task);
    const auto start_ns = clock_ns();
    slot.since_ns.store(start_ns, std::memory_order_relaxed);
    slot.running.store(task, std::memory_order_relaxed);
    if (slot.rank == 0) {
        out_.start_s[t] = since_begin(start_ns);
        ++slot.tasks;
        slot.sum += mixed(task);
    }
    if (program_.is_kernel(t))
        run(t, {slot.rank, slot.width}, worker);
    else if (slot.seconds > 0)
        spin(slot.seconds, start_ns);
    slot.running.store(-1, std::memory_order_relaxed);
    Slot &first = *slot.first;
    if (slot.width > 1 && first.left.fetch_sub(1, std::memory_order_acq_rel) > 1)
        return;
    // The last of the team: the task has finished.
    const auto now = clock_ns();
    if (settings_.scheduler_thread) {
        first.ended_ns = now;
        first.ended.store(task, std::memory_order_release);
        return;
    }
    const std::lock_guard locked(lock_);
    complete(task, now, now);
}

// A library that has no memory left must not take the process with it.
void Execution::run(std::size_t task, Part part, std::size_t worker) {
    try {
        program_.run(task, part, worker);
    } catch (const std::exception &error) {
        fail(error.what());
    }
}

void Execution::spin(double seconds, std::int64_t from_ns) const {
    const auto until = from_ns + static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9);
    while (clock_ns() < until && !aborted_.load(std::memory_order_relaxed))
        pause();
}

// The dedicated thread of Graphi: looks at all workers in turn.
void Execution::schedule() {
    while (met_after_.load(std::memory_order_acquire) < threads())
        if (stopped())
            return;
        else
            wait_();
    begin();
    while (!stopped()) {
        bool any = false;
        for (auto &slot : slots_) {
            const auto task = slot.ended.load(std::memory_order_acquire);
            if (task < 0)
                continue;
            any = true;
            const auto finish_ns = slot.ended_ns;
            slot.ended.store(-1, std::memory_order_relaxed);
            complete(task, finish_ns, clock_ns());
        }
        if (!any)
            wait_();
    }
}

void Execution::complete(std::int32_t task, std::int64_t finish_ns, std::int64_t now_ns) {
    const auto t = static_cast<std::size_t>(task);
    const auto finish = since_begin(finish_ns);
    out_.finish_s[t] = finish;
    --n_running_;
    for (auto e = after_.indptr[t]; e < after_.indptr[t + 1]; ++e) {
        const auto follower = after_.indices[static_cast<std::size_t>(e)];
        auto &ready = out_.ready_s[static_cast<std::size_t>(follower)];
        ready = std::max(ready, finish); // a scheduler thread hears of finishes in another order
        if (!--waiting_[static_cast<std::size_t>(follower)])
            released_.push_back(follower);
    }
    n_done_.store(done() + 1, std::memory_order_relaxed);
    go_on([&] { chooser_.finished(task); }, finish, since_begin(now_ns));
}

// Tells the policy what has happened and does what it decides.
template <class Notify> void Execution::go_on(Notify &&notify, double released, double now) {
    try {
        notify();
        release(released);
        decide(now);
    } catch (const std::exception &error) {
        fail(error.what());
    }
    if (done() == waiting_.size())
        stop_.store(true, std::memory_order_release);
    else if (n_running_ == 0 && !aborted_.load(std::memory_order_relaxed))
        fail("nothing runs although tasks are left");
}

void Execution::release(double now) {
    if (released_.empty())
        return;
    if (!std::is_sorted(released_.begin(), released_.end()))
        std::sort(released_.begin(), released_.end());
    chooser_.release(released_, now);
    released_.clear();
}

void Execution::decide(double now) {
    while (!aborted_.load(std::memory_order_relaxed) && chooser_.next(now, decision_))
        assign(decision_);
}

void Execution::assign(const Decision &decision) {
    const auto t = static_cast<std::size_t>(decision.task);
    out_.executor[t] = decision.executor;
    if (!out_.team.empty())
        out_.team[t] = decision.team;
    out_.order[n_begun_++] = decision.task;
    ++n_running_;
    const auto width = settings_.width ? settings_.width : decision.cores.size();
    const auto worker = [&](std::size_t rank) -> Slot & {
        return slots_[settings_.width ? static_cast<std::size_t>(decision.executor) * width + rank
                                      : static_cast<std::size_t>(decision.cores[rank])];
    };
    Slot &first = worker(0);
    first.left.store(static_cast<std::uint32_t>(width), std::memory_order_relaxed);
    for (std::size_t rank = 0; rank < width; ++rank) {
        Slot &slot = worker(rank);
        slot.task = decision.task;
        slot.rank = static_cast<std::uint32_t>(rank);
        slot.width = static_cast<std::uint32_t>(width);
        slot.seconds = decision.seconds;
        slot.first = &first;
        slot.called.fetch_add(1, std::memory_order_release);
    }
}

void Execution::fail(const char *why) {
    {
        const std::lock_guard locked(failing_);
        if (failure_.empty())
            failure_ = why;
    }
    stop_.store(true, std::memory_order_release);
}

} // namespace simsched
