#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

// NumPy arrays in and out, never copied: inputs are views, outputs own what C++ has filled.

namespace simsched {

template <typename T>
using Array = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <typename T> using Result = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

template <typename T> std::span<const T> view(const Array<T> &array) {
    return {array.data(), array.shape(0)};
}

// An array to be filled without the interpreter's lock and handed over with it.
template <typename T> class Column {
  public:
    explicit Column(std::size_t n) : data_(new T[n]), n_(n) {}
    std::span<T> span() { return {data_.get(), n_}; }
    Result<T> release() {
        T *data = data_.release();
        nanobind::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        return Result<T>(data, {n_}, owner);
    }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t n_;
};

// An array of its own with the same values.
template <typename T> Result<T> copied(const std::vector<T> &values) {
    Column<T> column(values.size());
    std::copy(values.begin(), values.end(), column.span().begin());
    return column.release();
}

} // namespace simsched
