#include "bind_causes.hpp"
#include "bind_planners.hpp"
#include "bind_plans.hpp"
#include "bind_policy.hpp"
#include "bind_replay.hpp"
#include "bind_sharing.hpp"

#include "arrays.hpp"
#include "longest_path.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

Result<double> bound_longest_path(Array<std::int64_t> indptr, Array<std::int32_t> indices,
                                  std::optional<Array<std::int32_t>> order, Array<double> weights) {
    Column<double> result(weights.shape(0));
    {
        nb::gil_scoped_release unlocked;
        const auto places = order ? std::optional(view(*order)) : std::nullopt;
        longest_path({view(indptr), view(indices)}, places, view(weights), result.span());
    }
    return result.release();
}

} // namespace

} // namespace simsched

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of simsched.";
    m.def("longest_path", &simsched::bound_longest_path, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "order"_a.noconvert().none(), "weights"_a.noconvert(),
          "Return weights[i] + max(result of i's neighbours, 0 if none) for every node i.\n\n"
          "indptr: int64 (n + 1,); indices: int32 (m,); order: int32 (n,), every neighbour before its node, "
          "or None\n"
          "for n - 1 to 0; weights: float64 (n,). Nothing is copied or converted; arrays that do not fit "
          "raise.");
    simsched::bind_sharing(m);
    simsched::bind_plans(m);
    simsched::bind_planners(m);
    simsched::bind_policy(m);
    simsched::bind_replay(m);
    simsched::bind_causes(m);
}
