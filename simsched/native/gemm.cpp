#include "gemm.hpp"

#include <cblas.h>

namespace simsched {

namespace {

// Threads of its own would make executors wait for each other.
const bool single = (scipy_openblas_set_num_threads(1), true);

blasint whole(std::size_t n) { return static_cast<blasint>(n); }
CBLAS_TRANSPOSE form(const Matrix &matrix) { return matrix.transposed ? CblasTrans : CblasNoTrans; }

} // namespace

void gemm(std::size_t m, std::size_t n, std::size_t k, Matrix a, Matrix b, bool adds, float *c,
          std::size_t stride) {
    scipy_cblas_sgemm(CblasRowMajor, form(a), form(b), whole(m), whole(n), whole(k), 1.0f, a.data,
                      whole(a.stride), b.data, whole(b.stride), adds ? 1.0f : 0.0f, c, whole(stride));
}

const char *blas_version() { return single ? scipy_openblas_get_config() : ""; }

} // namespace simsched
