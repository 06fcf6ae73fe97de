#include "kernels.hpp"

#include <cmath>

namespace simsched {

namespace {

constexpr float bias = 1.0f, alpha = 1e-4f;

// Over the sum of squares in the channels around each value: y = x s^(-3/4), s = bias + alpha sum(x^2).
// Sizes: rows (pixels), channels, channels of a window. Inputs: x; for the gradient dy, x, y.
class LocalResponse : public Kernel {
  public:
    explicit LocalResponse(Sizes &sizes)
        : rows_(sizes.next("rows")), channels_(sizes.next("channels")), reach_(sizes.next("window") / 2) {
        output = elements({rows_, channels_});
        inputs = {output};
        scratch = channels_;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const float *x = o.inputs[0] + row * channels_;
            float *out = o.output + row * channels_;
            sums(x, o.scratch);
            for (std::size_t c = 0; c < channels_; ++c)
                out[c] = x[c] * power(o.scratch[c]);
        }
    }

  protected:
    static float power(float s) { return 1.0f / std::sqrt(s * std::sqrt(s)); }
    void sums(const float *x, float *out) const {
        for (std::size_t c = 0; c < channels_; ++c)
            out[c] = bias + alpha * around(c, [x](std::size_t i) { return x[i] * x[i]; });
    }
    template <class Term> float around(std::size_t c, Term term) const {
        float sum = 0;
        for (auto i = c < reach_ ? 0 : c - reach_; i < std::min(c + reach_ + 1, channels_); ++i)
            sum += term(i);
        return sum;
    }
    std::size_t rows_, channels_, reach_;
};

// dx = dy s^(-3/4) - 2 alpha 3/4 x sum(dy y / s)
class LocalResponseGradient final : public LocalResponse {
  public:
    explicit LocalResponseGradient(Sizes &sizes) : LocalResponse(sizes) { inputs = {output, output, output}; }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const auto at = row * channels_;
            const float *dy = o.inputs[0] + at, *x = o.inputs[1] + at, *y = o.inputs[2] + at, *s = o.scratch;
            sums(x, o.scratch);
            for (std::size_t c = 0; c < channels_; ++c) {
                const float sum = around(c, [=](std::size_t i) { return dy[i] * y[i] / s[i]; });
                o.output[at + c] = dy[c] * power(s[c]) - 1.5f * alpha * x[c] * sum;
            }
        }
    }
};

} // namespace

Made make_local_response(Sizes &sizes) { return std::make_unique<LocalResponse>(sizes); }
Made make_local_response_gradient(Sizes &sizes) { return std::make_unique<LocalResponseGradient>(sizes); }

} // namespace simsched
