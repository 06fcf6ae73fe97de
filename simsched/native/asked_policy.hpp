#pragma once

#include "arrays.hpp"
#include "data_state.hpp"
#include "decision.hpp"
#include "replay_state.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// A policy written in Python: what it sees, and the engine's party that asks it.

namespace simsched {

// A task on some width, as the costs estimate it.
struct Estimate {
    double seconds = 0;
    Load load;
};

// Estimates of one width: columns of all tasks, once so many were asked for that these are quicker.
class Estimates {
  public:
    Estimates(nanobind::object checks, std::size_t n, std::size_t widest)
        : checks_(std::move(checks)), n_(n), asked_(widest + 1), columns_(widest + 1) {}
    Estimate operator()(std::size_t task, std::size_t width);
    // Of a team of several kinds of cores.
    Estimate on(std::size_t task, std::span<const std::int32_t> team);

  private:
    struct Columns {
        Array<double> seconds, memory_share, overhead_share, core_share;
        Array<std::int64_t> demand_Bps;
        bool loaded = false;
    };
    bool has_columns(std::size_t width);

    nanobind::object checks_;
    std::size_t n_, n_columns_ = 0;
    std::vector<std::uint32_t> asked_;
    std::vector<std::unique_ptr<Columns>> columns_; // by width
};

// What a policy sees; bound as simsched.policy.View. Lives for as long as Python likes, also after its
// replay.
struct PolicyView {
    PolicyView(nanobind::object problem, nanobind::object checks, nanobind::handle running, std::size_t n,
               std::size_t cores, std::size_t per_tile, std::size_t ways, const Runtime &runtime,
               bool several_kinds)
        : state(n, cores, per_tile, ways, runtime), problem(std::move(problem)), checks(checks),
          running_type(nanobind::borrow(running)), estimates(std::move(checks), n, cores * ways),
          several_kinds(several_kinds) {}

    ReplayState state;
    nanobind::object problem, checks, running_type;
    Estimates estimates;
    double now_s = 0;
    std::vector<std::int32_t> newly_ready, newly_finished;
    bool replayed = false, several_kinds;
    const DataState *data = nullptr; // while it is replayed, where data move
};

// The lock of a view: where Python has no lock of its own, other threads may look at it.
using ViewLock = std::optional<nanobind::ft_object_guard>;

// Asks the policy. Every start is checked here; what is no plain one goes to Python, which knows what else is
// one, and the errors.
class AskedPolicy {
  public:
    // A decision in Python may take milliseconds.
    static constexpr std::size_t progress_every = 1 << 6;

    // `locked` is the view's, held but while the policy decides.
    AskedPolicy(nanobind::handle view, ViewLock &locked, nanobind::object decide, nanobind::handle start,
                std::span<const double> factors, std::int64_t max_demand_Bps);
    void release(std::span<const std::int32_t> tasks, double now);
    void finished(std::int32_t task) {
        view_.state.finished(task);
        ended_.push_back(task);
    }
    bool next(double now, Decision &decision);

  private:
    nanobind::object next_action();
    void ask();
    void carry_out(nanobind::object action, Decision &decision);
    bool taken(nanobind::handle action);
    bool has_cores(nanobind::handle cores);

    ViewLock &locked_;
    nanobind::object self_, decide_, start_, actions_;
    nanobind::object task_name_, width_name_, cores_name_;
    PolicyView &view_;
    std::span<const double> factors_; // none: all 1
    std::int64_t max_demand_Bps_;
    std::vector<std::int32_t> new_, ended_, team_;
};

// A whole number as policies may give it: of Python or NumPy, and no bool.
bool whole(nanobind::handle number, std::int64_t &value);

} // namespace simsched
