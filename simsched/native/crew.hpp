#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

// Threads for real runs, made once, pinned from birth and asleep between runs.

namespace simsched {

// What the threads of a crew do together, each its part.
class Job {
  public:
    virtual ~Job() = default;
    virtual void work(std::size_t worker) = 0;
    // Asks the workers to leave before the work is done; called from outside, at any time.
    virtual void abort() = 0;
};

class Crew {
  public:
    // One worker for each list of CPUs that it may run on. Throws std::runtime_error where the system
    // refuses.
    explicit Crew(const std::vector<std::vector<int>> &cpus);
    ~Crew();
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    std::size_t size() const { return threads_.size(); }

    // Lets the first `workers` of the crew work on a job and sleeps until all have left. `tick` is called ten
    // times a second and may throw; then, and after `timeout_s`, the job is aborted. Returns whether it ended
    // by itself. Workers that do not leave within `grace_s` after that are abandoned with their job, and the
    // crew is of no use any more. Throws std::runtime_error where it is at work already.
    bool run(const std::shared_ptr<Job> &job, std::size_t workers, double timeout_s, double grace_s,
             const std::function<void()> &tick);
    bool broken() const { return broken_; }

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
    std::vector<std::thread> threads_;
    std::atomic<bool> broken_{false};
};

// The CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

} // namespace simsched
