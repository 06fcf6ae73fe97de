#include "bind_causes.hpp"

#include "arrays.hpp"
#include "bind_plans.hpp"
#include "causes.hpp"
#include "contention.hpp"

#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

Result<double> bound_excess_seconds(const BoundCsr &successors, Array<std::int32_t> task,
                                    Array<std::int32_t> start_order, Array<double> start_s,
                                    Array<double> finish_s, const BoundCsr &teams, Array<std::int32_t> team,
                                    const BoundLoads &loads, Array<bool> watched, const Sharing &shared) {
    Column<double> result(start_s.shape(0) * std::tuple_size_v<Excess>);
    {
        nb::gil_scoped_release unlocked;
        excess_seconds({view(successors), view(task), view(start_order), view(start_s), view(finish_s),
                        view(teams), view(team), view(loads), view(watched)},
                       shared, result.span());
    }
    return result.release();
}

constexpr auto excess_doc = R"(Return the seconds by which tasks were slowed down, by cause.

successors: of each task. task: int32 (n,), of each run: those that finished, by task, then those that were
aborted. start_order: int32 (n,), the runs as they started; one of no length before the next of its task. start_s,
finish_s: float64 (n,). teams: hardware threads of each team. team: int32 (n,), of each run. loads: demand of each
on what running tasks share. watched: bool (n,), whose seconds are wanted; the fewer of them run at once, the quicker.

Returns float64 (n * 5,), five for each run, zeros for those not watched: by hardware threads that share a core,
memory bandwidth, tiles, remote memory and the interconnect. Nothing is copied or converted; arrays that do not fit
raise.)";

} // namespace

void bind_causes(nb::module_ &m) {
    m.def("excess_seconds", &bound_excess_seconds, "successors"_a, "task"_a.noconvert(),
          "start_order"_a.noconvert(), "start_s"_a.noconvert(), "finish_s"_a.noconvert(), "teams"_a,
          "team"_a.noconvert(), "loads"_a, "watched"_a.noconvert(), "shared"_a, excess_doc);
}

} // namespace simsched
