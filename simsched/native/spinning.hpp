#pragma once

#include <atomic>
#include <cstdint>
#include <sched.h>
#include <time.h>

// Waiting without sleeping, and clocks.

namespace simsched {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// What a spinning thread does between two looks. With more threads than CPUs it gives its CPU away each time:
// whoever it waits for may need that very CPU.
class Wait {
  public:
    explicit Wait(bool shares_cpus) : yields_(shares_cpus) {}
    void operator()() const {
        if (yields_)
            sched_yield();
        else
            pause();
    }

  private:
    bool yields_;
};

class SpinLock {
  public:
    explicit SpinLock(Wait wait) : wait_(wait) {}
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire))
            while (held_.load(std::memory_order_relaxed))
                wait_();
    }
    void unlock() { held_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held_{false};
    Wait wait_;
};

inline std::int64_t clock_ns(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace simsched
