#include "longest_path.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

template <typename T> std::span<const T> view(const Array<T> &array) {
    return {array.data(), array.shape(0)};
}

Result longest_path(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<std::int32_t> order,
                    Array<double> weights) {
    const auto n = weights.shape(0);
    auto result = std::make_unique<double[]>(n);
    {
        nb::gil_scoped_release unlocked;
        simsched::longest_path({view(indptr), view(indices)}, view(order), view(weights), {result.get(), n});
    }
    double *data = result.release();
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<double *>(p); });
    return Result(data, {n}, owner);
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of simsched.";
    m.def("longest_path", &longest_path, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "order"_a.noconvert(), "weights"_a.noconvert(),
          "Return weights[i] + max(result of i's neighbours, 0 if none) for every node i.\n\n"
          "indptr: int64 (n + 1,); indices: int32 (m,); order: int32 (n,), every neighbour before its node;\n"
          "weights: float64 (n,). Nothing is copied or converted; arrays that do not fit raise.");
}
