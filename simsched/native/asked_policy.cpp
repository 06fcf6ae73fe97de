#include "asked_policy.hpp"

#include "checks.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace simsched {

namespace {

// Estimating all tasks at once costs as much as estimating so many, over so many, one by one; and so many
// columns are not too much memory.
constexpr std::size_t per_column = 128, max_columns = 16;

nb::object name(const char *text) { return nb::steal(PyUnicode_InternFromString(text)); }

template <typename T> Array<T> column(const nb::handle &held, std::size_t n) {
    const auto found = nb::cast<Array<T>>(held, false);
    if (found.shape(0) != n)
        throw std::invalid_argument("columns need one entry a task");
    return found;
}

// While this lives, others may look at a view.
class Unlocked {
  public:
    Unlocked(ViewLock &locked, nb::handle view) : locked_(locked), view_(view) { locked_.reset(); }
    ~Unlocked() { locked_.emplace(view_); }
    Unlocked(const Unlocked &) = delete;

  private:
    ViewLock &locked_;
    nb::handle view_;
};

Estimate estimate_of(const nb::handle &found) {
    const auto one = nb::cast<nb::tuple>(found);
    const auto load = nb::object(one[1]);
    return {nb::cast<double>(one[0]),
            {nb::cast<double>(load.attr("memory_share")), nb::cast<double>(load.attr("overhead_share")),
             nb::cast<std::int64_t>(load.attr("demand_Bps")), nb::cast<double>(load.attr("core_share"))}};
}

} // namespace

bool whole(nb::handle number, std::int64_t &value) {
    static const nb::object *numpys = new nb::object(nb::module_::import_("numpy").attr("integer"));
    const bool python = PyLong_Check(number.ptr()) && !PyBool_Check(number.ptr());
    if (!python && !PyType_IsSubtype(Py_TYPE(number.ptr()), reinterpret_cast<PyTypeObject *>(numpys->ptr())))
        return false;
    value = PyNumber_AsSsize_t(number.ptr(), PyExc_OverflowError);
    if (value != -1 || !PyErr_Occurred())
        return true;
    PyErr_Clear();
    return false;
}

Estimate Estimates::on(std::size_t task, std::span<const std::int32_t> team) {
    nb::list cores;
    for (const auto core : team)
        cores.append(core);
    return estimate_of(checks_.attr("estimate_on")(task, cores));
}

Estimate Estimates::operator()(std::size_t task, std::size_t width) {
    if (!has_columns(width))
        return estimate_of(checks_.attr("estimate")(task, width));
    const auto &of = *columns_[width];
    Estimate estimate{of.seconds.data()[task], {}};
    if (of.loaded)
        estimate.load = {of.memory_share.data()[task], of.overhead_share.data()[task],
                         of.demand_Bps.data()[task], of.core_share.data()[task]};
    return estimate;
}

bool Estimates::has_columns(std::size_t width) {
    if (columns_[width])
        return true;
    if (++asked_[width] <= n_ / per_column || n_columns_ == max_columns)
        return false;
    const auto found = nb::cast<nb::tuple>(checks_.attr("estimates")(width));
    auto made = std::make_unique<Columns>();
    auto &columns = *made;
    columns.seconds = column<double>(found[0], n_);
    const auto loads = nb::object(found[1]);
    if ((columns.loaded = !loads.is_none())) {
        columns.memory_share = column<double>(loads.attr("memory_share"), n_);
        columns.overhead_share = column<double>(loads.attr("overhead_share"), n_);
        columns.demand_Bps = column<std::int64_t>(loads.attr("demand_Bps"), n_);
        columns.core_share = column<double>(loads.attr("core_share"), n_);
    }
    // Another thread may have been as quick, while Python worked them out.
    if (!columns_[width]) {
        columns_[width] = std::move(made);
        ++n_columns_;
    }
    return true;
}

AskedPolicy::AskedPolicy(nb::handle view, ViewLock &locked, nb::object decide, nb::handle start,
                         std::span<const double> factors, std::int64_t max_demand_Bps)
    : locked_(locked), self_(nb::borrow(view)), decide_(std::move(decide)), start_(nb::borrow(start)),
      task_name_(name("task")), width_name_(name("width")), cores_name_(name("cores")),
      view_(nb::cast<PolicyView &>(view)), factors_(factors), max_demand_Bps_(max_demand_Bps) {
    if (std::exchange(view_.replayed, true))
        throw std::invalid_argument("a view is of one replay");
    if (!factors.empty() && factors.size() != view_.state.n())
        throw std::invalid_argument("factors need one entry a task, or none");
}

void AskedPolicy::release(std::span<const std::int32_t> tasks, double now) {
    view_.state.release(tasks, now);
    new_.insert(new_.end(), tasks.begin(), tasks.end());
}

bool AskedPolicy::next(double now, Decision &decision) {
    view_.now_s = now;
    auto action = next_action();
    if (!action.is_valid() && view_.state.ready().set().size() && view_.state.idle().all().set().size()) {
        ask();
        action = next_action();
    }
    if (!action.is_valid())
        return false;
    carry_out(std::move(action), decision);
    return true;
}

// Actions are taken one by one, so that a generator sees what its last action has changed.
nb::object AskedPolicy::next_action() {
    if (!actions_.is_valid())
        return {};
    auto action = [&] {
        const Unlocked deciding(locked_, self_);
        return nb::steal(PyIter_Next(actions_.ptr()));
    }();
    if (PyErr_Occurred())
        throw nb::python_error();
    if (!action.is_valid())
        actions_.reset();
    return action;
}

void AskedPolicy::ask() {
    view_.newly_ready.swap(new_);
    view_.newly_finished.swap(ended_);
    new_.clear();
    ended_.clear();
    const Unlocked deciding(locked_, self_);
    const auto actions = nb::steal(PyObject_CallOneArg(decide_.ptr(), self_.ptr()));
    if (!actions.is_valid())
        throw nb::python_error();
    if (actions.is_none())
        return;
    actions_ = nb::steal(PyObject_GetIter(actions.ptr()));
    if (actions_.is_valid())
        return;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        throw nb::python_error();
    PyErr_Clear();
    view_.checks.attr("require_actions")(actions);
}

void AskedPolicy::carry_out(nb::object action, Decision &decision) {
    const auto checked = [&] {
        const Unlocked checking(locked_, self_);
        return nb::object(view_.checks.attr("checked")(action, self_));
    };
    if (!taken(action) && !taken(checked()))
        throw std::invalid_argument("a start was found possible, and is not");
    const auto task = static_cast<std::size_t>(view_.state.task());
    const auto estimate = view_.several_kinds ? view_.estimates.on(task, view_.state.taken())
                                              : view_.estimates(task, view_.state.width());
    decision.load = estimate.load;
    simsched::check(decision.load, max_demand_Bps_);
    view_.state.start(view_.now_s, estimate.seconds,
                      factors_.empty() ? estimate.seconds : estimate.seconds * factors_[task], decision);
    check_seconds(decision.seconds);
}

// Whether this is a start of plain numbers, and possible; then its task and cores are taken.
bool AskedPolicy::taken(nb::handle action) {
    if (!action.type().is(start_))
        return false;
    const auto of = [&](const nb::object &name) {
        auto held = nb::steal(PyObject_GetAttr(action.ptr(), name.ptr()));
        if (!held.is_valid())
            PyErr_Clear();
        return held;
    };
    const auto task = of(task_name_), width = of(width_name_), cores = of(cores_name_);
    if (!task.is_valid() || !width.is_valid() || !cores.is_valid())
        return false;
    std::int64_t t, w;
    auto &state = view_.state;
    if (!whole(task, t) || !whole(width, w) || !PyTuple_CheckExact(cores.ptr()) || t < 0 ||
        static_cast<std::size_t>(t) >= state.n() ||
        !state.ready().set().contains(static_cast<std::size_t>(t)))
        return false;
    if (!PyTuple_GET_SIZE(cores.ptr())) {
        if (view_.several_kinds || w < 1 || static_cast<std::size_t>(w) > state.idle().all().set().size())
            return false;
        state.take(static_cast<std::int32_t>(t), static_cast<std::size_t>(w));
        return true;
    }
    if (!has_cores(cores))
        return false;
    state.take(static_cast<std::int32_t>(t), team_);
    return true;
}

// Fills the team with these cores, ascending; false where they are not idle, or one is given twice.
bool AskedPolicy::has_cores(nb::handle cores) {
    const auto &idle = view_.state.idle().all().set();
    team_.clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cores.ptr()); ++i) {
        std::int64_t core;
        if (!whole(PyTuple_GET_ITEM(cores.ptr(), i), core) || core < 0 ||
            static_cast<std::size_t>(core) >= view_.state.threads() ||
            !idle.contains(static_cast<std::size_t>(core)))
            return false;
        team_.push_back(static_cast<std::int32_t>(core));
    }
    std::sort(team_.begin(), team_.end());
    return std::adjacent_find(team_.begin(), team_.end()) == team_.end();
}

} // namespace simsched
