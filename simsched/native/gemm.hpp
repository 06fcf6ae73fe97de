#pragma once

#include <cstddef>

namespace simsched {

struct Matrix {
    const float *data;
    std::size_t stride; // from row to row as it lies in memory
    bool transposed = false;
};

// c = a b + (adds ? c : 0) for a of m x k, b of k x n, on the calling thread alone.
void gemm(std::size_t m, std::size_t n, std::size_t k, Matrix a, Matrix b, bool adds, float *c,
          std::size_t stride);

// The BLAS: its version, and which cores it takes itself to run on.
const char *blas_version();

} // namespace simsched
