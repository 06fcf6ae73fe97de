#include "gemm.hpp"
#include "kernels.hpp"

namespace simsched {

namespace {

// Columns and rows are cut at whole cache lines of the output and at whole register blocks.
constexpr std::size_t column_grain = 16, row_grain = 8;

// out = a b + bias, `batch` times. Sizes: batch, m, n, k, whether a lies as k x m, whether b lies as n x k,
// bias: 0 for none, 1 for a row of n, 2 for a matrix of m x n.
class Gemm final : public Kernel {
  public:
    explicit Gemm(Sizes &sizes)
        : batch_(sizes.next("batch")), m_(sizes.next("m")), n_(sizes.next("n")), k_(sizes.next("k")),
          a_transposed_(sizes.next("transposed a", 0)), b_transposed_(sizes.next("transposed b", 0)),
          bias_(sizes.next("bias", 0)) {
        if (bias_ > 2)
            throw std::invalid_argument("kernel gemm: bias is 0, 1 or 2");
        inputs = {elements({batch_, m_, k_}), elements({batch_, k_, n_})};
        if (bias_)
            inputs.push_back(bias_ == 1 ? n_ : elements({batch_, m_, n_}));
        output = elements({batch_, m_, n_});
    }

    void run(const Operands &operands, Part part) const override {
        if (batch_ >= part.width) {
            const auto mine = part.of(batch_);
            for (auto i = mine.begin; i < mine.end; ++i)
                block(operands, i, {0, m_}, {0, n_});
            return;
        }
        const bool by_columns = n_ >= column_grain * part.width || n_ >= m_;
        const auto rows = by_columns ? Part::Range{0, m_} : part.of(m_, row_grain);
        const auto columns = by_columns ? part.of(n_, column_grain) : Part::Range{0, n_};
        for (std::size_t i = 0; i < batch_; ++i)
            block(operands, i, rows, columns);
    }

  private:
    void block(const Operands &operands, std::size_t i, Part::Range rows, Part::Range columns) const {
        if (rows.empty() || columns.empty())
            return;
        const float *a = operands.inputs[0] + i * m_ * k_, *b = operands.inputs[1] + i * k_ * n_;
        float *c = operands.output + i * m_ * n_ + columns.begin;
        if (bias_) {
            const float *bias = operands.inputs[2] + columns.begin + (bias_ == 2 ? i * m_ * n_ : 0);
            for (auto row = rows.begin; row < rows.end; ++row)
                std::copy_n(bias + (bias_ == 2 ? row * n_ : 0), columns.size(), c + row * n_);
        }
        a += a_transposed_ ? rows.begin : rows.begin * k_;
        b += b_transposed_ ? columns.begin * k_ : columns.begin;
        gemm(rows.size(), columns.size(), k_, {a, a_transposed_ ? m_ : k_, a_transposed_},
             {b, b_transposed_ ? k_ : n_, b_transposed_}, bias_ != 0, c + rows.begin * n_, n_);
    }

    std::size_t batch_, m_, n_, k_;
    bool a_transposed_, b_transposed_;
    std::size_t bias_;
};

} // namespace

Made make_gemm(Sizes &sizes) { return std::make_unique<Gemm>(sizes); }

} // namespace simsched
