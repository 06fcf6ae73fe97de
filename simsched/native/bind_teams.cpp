#include "bind_teams.hpp"

#include "arrays.hpp"
#include "probes.hpp"
#include "teams.hpp"

#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

// Outlives the call where workers had to be abandoned.
struct Measured {
    Measured(std::size_t width, std::size_t rounds)
        : fork_s(rounds), join_s(rounds), regions(width, fork_s.span(), join_s.span(), false) {}
    Column<double> fork_s, join_s;
    Regions regions;
};

void interrupted() {
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals())
        throw nb::python_error();
}

void require(bool in_time) {
    if (!in_time)
        throw std::runtime_error("threads did not come in time; is another program using their CPUs?");
}

nb::tuple region_times(Crew &crew, std::size_t rounds, double timeout_s, double grace_s) {
    const auto measured = std::make_shared<Measured>(crew.size(), rounds);
    const std::shared_ptr<Job> job(measured, &measured->regions);
    {
        nb::gil_scoped_release unlocked;
        require(crew.run(job, crew.size(), timeout_s, grace_s, interrupted));
    }
    return nb::make_tuple(measured->fork_s.release(), measured->join_s.release());
}

Result<double> wake_up_times(Crew &crew, std::size_t times, double asleep_s, double timeout_s) {
    Column<double> seconds(times);
    {
        nb::gil_scoped_release unlocked;
        require(wake_ups(crew, seconds.span(), asleep_s, timeout_s, interrupted));
    }
    return seconds.release();
}

// Outlives the call where workers had to be abandoned.
template <class Kind> struct Probed {
    template <class... Arguments>
    Probed(std::size_t columns, Arguments... arguments)
        : begin_ns(columns), end_ns(columns), probe(std::move(arguments)..., begin_ns.span(), end_ns.span()) {
    }
    Column<std::int64_t> begin_ns, end_ns;
    Kind probe;
};

template <class Kind, class... Arguments>
nb::tuple probed(Crew &crew, std::size_t width, std::size_t rounds, double timeout_s, double grace_s,
                 Arguments... arguments) {
    if (width == 0 || width > crew.size())
        throw std::invalid_argument("a crew of " + std::to_string(crew.size()) + " has no " +
                                    std::to_string(width) + " workers");
    const auto held = std::make_shared<Probed<Kind>>(width * rounds, std::move(arguments)...);
    const std::shared_ptr<Job> job(held, &held->probe);
    {
        nb::gil_scoped_release unlocked;
        require(crew.run(job, width, timeout_s, grace_s, interrupted));
    }
    return nb::make_tuple(held->begin_ns.release(), held->end_ns.release());
}

nb::tuple addition_times(Crew &crew, std::size_t width, std::size_t count, std::size_t rounds,
                         double timeout_s, double grace_s) {
    return probed<Additions>(crew, width, rounds, timeout_s, grace_s, width, count);
}

nb::tuple triad_times(Crew &crew, const std::vector<std::int32_t> &homes,
                      const std::vector<std::int64_t> &elements, std::size_t rounds, double timeout_s,
                      double grace_s) {
    return probed<Triads>(crew, homes.size(), rounds, timeout_s, grace_s, homes, elements);
}

nb::tuple return_times(Crew &crew, std::size_t count, std::size_t rounds, double timeout_s, double grace_s) {
    return probed<Returns>(crew, 2, rounds, timeout_s, grace_s, count);
}

} // namespace

void bind_teams(nb::module_ &m) {
    m.def(
        "region_times", &region_times, "crew"_a, "rounds"_a, "timeout_s"_a, "grace_s"_a,
        "Fork and join an empty region on all workers of a crew, again and again.\n\n"
        "Returns the seconds from each call to the last worker's first instruction, and from there until the "
        "last\nworker has been counted, both float64 (rounds,).");
    m.def("wake_up_times", &wake_up_times, "crew"_a, "times"_a, "asleep_s"_a, "timeout_s"_a,
          "Wake the first worker of a crew, asleep for `asleep_s`, again and again.\n\n"
          "Returns the seconds from each wake-up to its first instruction, float64 (times,).");
    m.def("addition_times", &addition_times, "crew"_a, "width"_a, "count"_a, "rounds"_a, "timeout_s"_a,
          "grace_s"_a,
          "Add `count` times, each waiting for the one before, on the first `width` workers at once.\n\n"
          "Returns when each worker began and ended each round, in ns, both int64 (width * rounds,).");
    m.def("triad_times", &triad_times, "crew"_a, "homes"_a, "elements"_a, "rounds"_a, "timeout_s"_a,
          "grace_s"_a,
          "Compute a = b + s c on arrays of doubles of each worker, first written by the worker that is its "
          "home.\n\n"
          "Returns when each worker began and ended each round, in ns, both int64 (workers * rounds,).");
    m.def("return_times", &return_times, "crew"_a, "count"_a, "rounds"_a, "timeout_s"_a, "grace_s"_a,
          "Send a cache line there and back between the first two workers, `count` times a round.\n\n"
          "Returns when each of the two began and ended each round, in ns, both int64 (2 * rounds,).");
}

} // namespace simsched
