#include "bind_teams.hpp"

#include "arrays.hpp"
#include "teams.hpp"

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
}

} // namespace simsched
