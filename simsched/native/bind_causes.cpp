#include "bind_causes.hpp"

#include "arrays.hpp"
#include "causes.hpp"
#include "contention.hpp"

#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

Result<double> bound_excess_seconds(Array<std::int64_t> indptr, Array<std::int32_t> indices,
                                    Array<std::int32_t> start_order, Array<double> start_s,
                                    Array<double> finish_s, Array<std::int64_t> teams_indptr,
                                    Array<std::int32_t> teams_indices, Array<std::int32_t> team,
                                    Array<double> memory_share, Array<double> overhead_share,
                                    Array<std::int64_t> demand_Bps, Array<bool> watched,
                                    const Sharing &shared) {
    Column<double> result(start_s.shape(0) * std::tuple_size_v<Excess>);
    {
        nb::gil_scoped_release unlocked;
        excess_seconds({{view(indptr), view(indices)},
                        view(start_order),
                        view(start_s),
                        view(finish_s),
                        {view(teams_indptr), view(teams_indices)},
                        view(team),
                        {view(memory_share), view(overhead_share), view(demand_Bps)},
                        view(watched)},
                       shared, result.span());
    }
    return result.release();
}

constexpr auto excess_doc = R"(Return the seconds by which tasks were slowed down, by cause.

indptr: int64 (n + 1,), indices: int32 (m,): successors. start_order: int32 (n,), the tasks as they started.
start_s, finish_s: float64 (n,). teams_indptr, teams_indices: hardware threads of each team. team: int32 (n,), of
each task. memory_share, overhead_share: float64 (n,), demand_Bps: int64 (n,): what each asks of what running tasks
share. watched: bool (n,), whose seconds are wanted; the fewer of them run at once, the quicker.

Returns float64 (n * 5,), five for each task, zeros for those not watched: by hardware threads that share a core,
memory bandwidth, tiles, remote memory and the interconnect. Nothing is copied or converted; arrays that do not fit
raise.)";

} // namespace

void bind_causes(nb::module_ &m) {
    m.def("excess_seconds", &bound_excess_seconds, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "start_order"_a.noconvert(), "start_s"_a.noconvert(), "finish_s"_a.noconvert(),
          "teams_indptr"_a.noconvert(), "teams_indices"_a.noconvert(), "team"_a.noconvert(),
          "memory_share"_a.noconvert(), "overhead_share"_a.noconvert(), "demand_Bps"_a.noconvert(),
          "watched"_a.noconvert(), "shared"_a, excess_doc);
}

} // namespace simsched
