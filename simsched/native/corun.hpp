#pragma once

#include "cores.hpp"
#include "decision.hpp"
#include "ordered_set.hpp"

#include <cstdint>
#include <map>
#include <queue>
#include <span>
#include <utility>
#include <vector>

// Co-running by candidate widths: the twin of CandidateRule in simsched/policy/candidates.py, carried out as
// simsched/replay/policy_referee.py does.

namespace simsched {

struct CorunInput {
    std::span<const std::int32_t> widths; // (n, candidates), the fastest first
    std::span<const double> estimates;    // (n, candidates), seconds by which the rule decides
    std::span<const double> seconds;      // (n, candidates), what really passes but for noise
    std::span<const double> noise;        // (n,), factor on what really passes; empty for none
    std::span<const double> serial;  // (n,), one-core seconds; empty unless small tasks run on second ways
    Loads loads;                     // (n, candidates), or empty
    std::size_t candidates, offered, // of the candidates those that count beside others come first
        most, cores, cores_per_tile,
        ways;    // cores of each way; threads are cores times ways
    bool beside; // whether tasks start beside others
    double dispatch_s, resize_s, resize_per_thread_s;
};

class Corun {
  public:
    // A decision looks at every ready task: with a million of them, this many already take a while.
    static constexpr std::size_t progress_every = 1 << 10;

    // Throws std::invalid_argument on widths or sizes that are impossible.
    Corun(const CorunInput &input, std::size_t n);

    void release(std::span<const std::int32_t> tasks, double);
    void finished(std::int32_t task);
    bool next(double now, Decision &decision);

    // Every distinct team in order of first use: where its cores begin, and the cores.
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams() const;

  private:
    struct Offer {
        std::int32_t task = -1;
        std::int32_t width = 0;
        std::size_t row = 0; // of the candidate
    };
    // What most decisions need of a task: they look at every ready one, and its rows may be far apart.
    struct Glance {
        double own_s = 0, quickest_s = 0;                // first of all, least of those offered
        std::int32_t narrowest = 0, narrowest_offer = 0; // of all, of those offered
    };
    Glance glance(std::size_t task) const;
    Offer on_cores(double now);
    Offer first() const;
    Offer beside(double now);
    Offer longest() const;
    Offer on_second_ways(double now) const;
    double resize(const std::vector<std::int32_t> &team);
    std::int32_t interned(const std::vector<std::int32_t> &team);

    const CorunInput in_;
    bool smt() const { return !in_.serial.empty(); }
    std::size_t idle() const;
    std::size_t pool() const { return smt() ? in_.cores : in_.cores * in_.ways; }
    void take(std::size_t width);

    OrderedSet ready_, lanes_;
    std::vector<Cores> ways_;
    std::size_t n_running_ = 0;
    std::vector<char> runs_;
    std::vector<double> ready_at_;
    std::int32_t holder_ = -1; // runs on the first way of every core
    double holder_end_ = 0;    // estimated
    // Estimated ends; tasks that run no longer are dropped when they come up.
    std::priority_queue<std::pair<double, std::int32_t>> ends_;
    std::vector<std::int32_t> lane_of_, team_of_, last_width_, team_;
    std::vector<Glance> glances_;
    std::map<std::vector<std::int32_t>, std::int32_t> ids_;
    std::vector<const std::vector<std::int32_t> *> teams_;
};

} // namespace simsched
