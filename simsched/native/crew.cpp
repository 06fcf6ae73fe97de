#include "crew.hpp"

#include "spinning.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <string>

namespace simsched {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

cpu_set_t *new_set(int most) {
    cpu_set_t *set = CPU_ALLOC(static_cast<std::size_t>(most));
    if (!set)
        throw std::bad_alloc();
    CPU_ZERO_S(CPU_ALLOC_SIZE(most), set);
    return set;
}

// Sets the mask of the calling thread. Absent CPUs are dropped in silence, so it is read back.
void pin(const std::vector<int> &cpus) {
    int most = 1024;
    for (const auto cpu : cpus)
        most = std::max(most, cpu + 1);
    const auto size = CPU_ALLOC_SIZE(most);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> set(new_set(most),
                                                                [](cpu_set_t *s) { CPU_FREE(s); });
    for (const auto cpu : cpus)
        CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
    if (sched_setaffinity(0, size, set.get()) || allowed_cpus() != cpus) {
        std::string wanted;
        for (const auto cpu : cpus)
            wanted += (wanted.empty() ? "" : ", ") + std::to_string(cpu);
        throw std::runtime_error("the system does not let a thread run on CPU " + wanted +
                                 "; see the affinity of this process (taskset -p)");
    }
}

// While a thread lives with another mask, the threads it makes are born with that one.
class Pinned {
  public:
    explicit Pinned(const std::vector<int> &cpus) : before_(allowed_cpus()) { pin(cpus); }
    ~Pinned() {
        try {
            pin(before_);
        } catch (const std::exception &) { // the CPUs were there before; if they have gone, so be it
        }
    }

  private:
    std::vector<int> before_;
};

} // namespace

std::vector<int> allowed_cpus() {
    for (int most = 1024;; most *= 2) {
        const auto size = CPU_ALLOC_SIZE(most);
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> set(new_set(most),
                                                                    [](cpu_set_t *s) { CPU_FREE(s); });
        if (sched_getaffinity(0, size, set.get())) {
            if (most >= 1 << 20)
                throw std::runtime_error("the system does not tell which CPUs a thread may run on");
            continue; // the kernel knows more CPUs than that
        }
        std::vector<int> cpus;
        for (int cpu = 0; cpu < most; ++cpu)
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set.get()))
                cpus.push_back(cpu);
        return cpus;
    }
}

// Outlives the crew where workers had to be abandoned.
struct Crew::Shared {
    explicit Shared(std::size_t workers) : called(workers) {}

    // One line a worker, so that only those that are needed wake up.
    struct alignas(64) Call {
        std::atomic<std::uint32_t> number{0};
    };
    std::vector<Call> called;
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::condition_variable left;
    std::shared_ptr<Job> job; // guarded by mutex, as is:
    std::size_t n_working = 0;

    void live(std::size_t worker) {
        for (std::uint32_t seen = 0;;) {
            called[worker].number.wait(seen, std::memory_order_acquire);
            seen = called[worker].number.load(std::memory_order_acquire);
            if (stop.load(std::memory_order_acquire))
                return;
            Job *mine;
            {
                const std::lock_guard locked(mutex);
                mine = job.get();
            }
            mine->work(worker);
            const std::lock_guard locked(mutex);
            if (--n_working == 0)
                left.notify_all();
        }
    }

    void call(std::size_t worker) {
        called[worker].number.fetch_add(1, std::memory_order_release);
        called[worker].number.notify_one();
    }
};

Crew::Crew(const std::vector<std::vector<int>> &cpus) : shared_(std::make_shared<Shared>(cpus.size())) {
    try {
        for (std::size_t worker = 0; worker < cpus.size(); ++worker) {
            const Pinned pinned(cpus[worker]);
            threads_.emplace_back([shared = shared_, worker] { shared->live(worker); });
        }
    } catch (...) {
        shared_->stop.store(true, std::memory_order_release);
        for (std::size_t worker = 0; worker < threads_.size(); ++worker) {
            shared_->call(worker);
            threads_[worker].join();
        }
        throw;
    }
}

Crew::~Crew() {
    shared_->stop.store(true, std::memory_order_release);
    for (std::size_t worker = 0; worker < threads_.size(); ++worker) {
        shared_->call(worker);
        if (broken_)
            threads_[worker].detach();
        else
            threads_[worker].join();
    }
}

bool Crew::run(const std::shared_ptr<Job> &job, std::size_t workers, double timeout_s, double grace_s,
               const std::function<void()> &tick) {
    if (broken_)
        throw std::runtime_error("workers of this crew are stuck in an earlier run");
    if (workers == 0 || workers > size())
        throw std::invalid_argument("a crew works with one worker or more, and no more than it has");
    if (!(timeout_s >= 0) || !(grace_s >= 0))
        throw std::invalid_argument("a run needs zero or more seconds to end in, and to be stopped in");
    {
        const std::lock_guard locked(shared_->mutex);
        if (shared_->job)
            throw std::runtime_error("this crew is at work");
        shared_->job = job;
        shared_->n_working = workers;
    }
    for (std::size_t worker = 0; worker < workers; ++worker)
        shared_->call(worker);
    const auto seconds = [](double s) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(s, 1e8)));
    };
    const auto deadline = Clock::now() + seconds(timeout_s);
    std::exception_ptr thrown;
    std::unique_lock locked(shared_->mutex);
    const auto all_left = [&] { return shared_->n_working == 0; };
    while (!shared_->left.wait_until(locked, std::min<Clock::time_point>(deadline, Clock::now() + 100ms),
                                     all_left)) {
        locked.unlock();
        try {
            tick();
        } catch (...) {
            thrown = std::current_exception();
        }
        locked.lock();
        if (thrown || Clock::now() >= deadline)
            break;
    }
    // A run may end while the clock is looked at: that is in time.
    const bool in_time = all_left();
    if (!in_time) {
        job->abort();
        if (!shared_->left.wait_for(locked, seconds(grace_s), all_left)) {
            broken_ = true;
            // Someone still works on it: it must never be destroyed.
            new std::shared_ptr<Job>(job);
        }
    }
    if (!broken_)
        shared_->job.reset();
    if (thrown)
        std::rethrow_exception(thrown);
    return in_time;
}

} // namespace simsched
