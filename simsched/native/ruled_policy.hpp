#pragma once

#include "candidate_rule.hpp"
#include "replay_state.hpp"

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace simsched {

// What a replay of the rule needs besides its candidates: the twin of simsched/replay/plan.py, DynamicPlan.
struct RulePlan {
    std::span<const double> seconds; // (n, candidates), what really passes but for noise
    std::span<const double> noise;   // (n,), factor on what really passes; empty for none
    Loads loads;                     // (n, candidates), or empty
    std::size_t cores, cores_per_tile, ways;
    Runtime runtime;

    std::size_t threads() const { return cores * ways; }
};

// Asks the rule, and shows it the state.
class RuledPolicy {
  public:
    // A decision looks at every ready task: with a million of them, this many already take a while.
    static constexpr std::size_t progress_every = 1 << 10;

    // Throws std::invalid_argument on widths or sizes that are impossible.
    RuledPolicy(const Candidates &candidates, const RulePlan &plan, std::size_t n);

    void release(std::span<const std::int32_t> tasks, double now) { state_.release(tasks, now); }
    void finished(std::int32_t task);
    bool next(double now, Decision &decision);
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams() const { return state_.teams(); }

  private:
    void keep(const Decision &decision, double finish_s);
    std::size_t on_way(std::size_t way, std::span<const std::int32_t> team) const;

    const RulePlan plan_;
    const CandidateRule rule_;
    ReplayState state_;
    RuleView view_;
    std::vector<std::int32_t> team_of_; // of running tasks; -1 for others
    std::int32_t holder_ = -1;
    // Estimated ends; tasks that run no longer are dropped when they come up.
    std::priority_queue<std::pair<double, std::int32_t>> ends_;
};

} // namespace simsched
