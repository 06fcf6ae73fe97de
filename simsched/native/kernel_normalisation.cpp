#include "kernels.hpp"

#include <cmath>

namespace simsched {

namespace {

constexpr float epsilon = 1e-5f;

// x of batch x channels x pixels; a channel has its own mean and variance, over all images. Sizes: batch,
// channels, pixels. Inputs: x, scale, shift.
class BatchNorm final : public Kernel {
  public:
    BatchNorm(Sizes &sizes, const Loops &loops)
        : batch_(sizes.next("batch")), channels_(sizes.next("channels")), pixels_(sizes.next("pixels")),
          loops_(loops) {
        output = elements({batch_, channels_, pixels_});
        inputs = {output, channels_, channels_};
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(channels_);
        const auto n = static_cast<float>(batch_ * pixels_);
        for (auto c = mine.begin; c < mine.end; ++c) {
            float sum = 0, squares = 0;
            for (std::size_t i = 0; i < batch_; ++i)
                sum += loops_.sum(o.inputs[0] + at(i, c), pixels_);
            const float mean = sum / n;
            for (std::size_t i = 0; i < batch_; ++i)
                squares += loops_.squares(o.inputs[0] + at(i, c), mean, pixels_);
            const float scale = o.inputs[1][c] / std::sqrt(squares / n + epsilon);
            for (std::size_t i = 0; i < batch_; ++i)
                loops_.affine(o.inputs[0] + at(i, c), scale, o.inputs[2][c] - mean * scale,
                              o.output + at(i, c), pixels_);
        }
    }

  private:
    std::size_t at(std::size_t image, std::size_t channel) const {
        return (image * channels_ + channel) * pixels_;
    }
    std::size_t batch_, channels_, pixels_;
    const Loops &loops_;
};

// Gradient of the data. Sizes as above. Inputs: dy, x, scale.
class BatchNormGradient final : public Kernel {
  public:
    BatchNormGradient(Sizes &sizes, const Loops &loops)
        : batch_(sizes.next("batch")), channels_(sizes.next("channels")), pixels_(sizes.next("pixels")),
          loops_(loops) {
        output = elements({batch_, channels_, pixels_});
        inputs = {output, output, channels_};
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(channels_);
        const auto n = static_cast<float>(batch_ * pixels_);
        for (auto c = mine.begin; c < mine.end; ++c) {
            float x_sum = 0, squares = 0, dy_sum = 0, product = 0;
            for (std::size_t i = 0; i < batch_; ++i) {
                x_sum += loops_.sum(o.inputs[1] + at(i, c), pixels_);
                dy_sum += loops_.sum(o.inputs[0] + at(i, c), pixels_);
                product += loops_.dot(o.inputs[0] + at(i, c), o.inputs[1] + at(i, c), pixels_);
            }
            const float mean = x_sum / n;
            for (std::size_t i = 0; i < batch_; ++i)
                squares += loops_.squares(o.inputs[1] + at(i, c), mean, pixels_);
            const float inverse = 1.0f / std::sqrt(squares / n + epsilon);
            // dx = scale inverse (dy - mean(dy) - (x - mean) inverse^2 mean(dy (x - mean)))
            const float along = (product - mean * dy_sum) / n * inverse * inverse;
            const float factor = o.inputs[2][c] * inverse, shift = mean * along - dy_sum / n;
            for (std::size_t i = 0; i < batch_; ++i) {
                const float *dy = o.inputs[0] + at(i, c), *x = o.inputs[1] + at(i, c);
                float *out = o.output + at(i, c);
                for (std::size_t p = 0; p < pixels_; ++p)
                    out[p] = factor * (dy[p] - x[p] * along + shift);
            }
        }
    }

  private:
    std::size_t at(std::size_t image, std::size_t channel) const {
        return (image * channels_ + channel) * pixels_;
    }
    std::size_t batch_, channels_, pixels_;
    const Loops &loops_;
};

// Sizes: rows, columns. Inputs: x, scale, shift.
class LayerNorm final : public Kernel {
  public:
    LayerNorm(Sizes &sizes, const Loops &loops)
        : rows_(sizes.next("rows")), columns_(sizes.next("columns")), loops_(loops) {
        output = elements({rows_, columns_});
        inputs = {output, columns_, columns_};
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const float *x = o.inputs[0] + row * columns_;
            float *out = o.output + row * columns_;
            const float mean = loops_.sum(x, columns_) / static_cast<float>(columns_);
            const float variance = loops_.squares(x, mean, columns_) / static_cast<float>(columns_);
            const float scale = 1.0f / std::sqrt(variance + epsilon);
            for (std::size_t i = 0; i < columns_; ++i)
                out[i] = (x[i] - mean) * scale * o.inputs[1][i] + o.inputs[2][i];
        }
    }

  private:
    std::size_t rows_, columns_;
    const Loops &loops_;
};

// Gradient of the data: dx = (g - mean(g) - x' mean(g x')) / deviation, with g = dy scale and x' the
// normalised x. Sizes: rows, columns. Inputs: dy, x, scale.
class LayerNormGradient final : public Kernel {
  public:
    LayerNormGradient(Sizes &sizes, const Loops &loops)
        : rows_(sizes.next("rows")), columns_(sizes.next("columns")), loops_(loops),
          multiply_(loops.find_binary("multiply").run) {
        output = elements({rows_, columns_});
        inputs = {output, output, columns_};
        scratch = columns_;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        const auto n = static_cast<float>(columns_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const float *x = o.inputs[1] + row * columns_;
            float *g = o.scratch, *out = o.output + row * columns_;
            multiply_(o.inputs[0] + row * columns_, o.inputs[2], g, columns_);
            const float mean = loops_.sum(x, columns_) / n, g_mean = loops_.sum(g, columns_) / n;
            const float inverse = 1.0f / std::sqrt(loops_.squares(x, mean, columns_) / n + epsilon);
            const float along = (loops_.dot(g, x, columns_) / n - mean * g_mean) * inverse * inverse;
            for (std::size_t i = 0; i < columns_; ++i)
                out[i] = (g[i] - g_mean - (x[i] - mean) * along) * inverse;
        }
    }

  private:
    std::size_t rows_, columns_;
    const Loops &loops_;
    Binary multiply_;
};

// Sizes: rows, columns.
class Softmax final : public Kernel {
  public:
    Softmax(Sizes &sizes, const Loops &loops)
        : rows_(sizes.next("rows")), columns_(sizes.next("columns")), loops_(loops) {
        output = elements({rows_, columns_});
        inputs = {output};
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const float *x = o.inputs[0] + row * columns_;
            float *out = o.output + row * columns_;
            const float sum = loops_.exponentials(x, loops_.max(x, columns_), out, columns_);
            for (std::size_t i = 0; i < columns_; ++i)
                out[i] *= 1.0f / sum;
        }
    }

  private:
    std::size_t rows_, columns_;
    const Loops &loops_;
};

// dx = y (dy - dot(dy, y)). Sizes: rows, columns. Inputs: dy, y.
class SoftmaxGradient final : public Kernel {
  public:
    SoftmaxGradient(Sizes &sizes, const Loops &loops)
        : rows_(sizes.next("rows")), columns_(sizes.next("columns")), loops_(loops) {
        output = elements({rows_, columns_});
        inputs = {output, output};
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(rows_);
        for (auto row = mine.begin; row < mine.end; ++row) {
            const float *dy = o.inputs[0] + row * columns_, *y = o.inputs[1] + row * columns_;
            float *out = o.output + row * columns_;
            const float along = loops_.dot(dy, y, columns_);
            for (std::size_t i = 0; i < columns_; ++i)
                out[i] = y[i] * (dy[i] - along);
        }
    }

  private:
    std::size_t rows_, columns_;
    const Loops &loops_;
};

// x of outer x reduced x inner becomes outer x inner. Sizes: outer, reduced, inner.
class Reduce final : public Kernel {
  public:
    Reduce(Sizes &sizes, Reduction reduction, const Loops &loops)
        : outer_(sizes.next("outer")), reduced_(sizes.next("reduced")), inner_(sizes.next("inner")),
          reduction_(reduction), loops_(loops),
          step_(loops.find_binary(reduction == Reduction::largest ? "maximum" : "add").run) {
        inputs = {elements({outer_, reduced_, inner_})};
        output = elements({outer_, inner_});
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(output, inner_ > 1 ? 16 : 1);
        for (auto at = mine.begin; at < mine.end;) {
            const auto first = at % inner_, length = std::min(inner_ - first, mine.end - at);
            reduce(o.inputs[0] + at / inner_ * reduced_ * inner_ + first, length, o.output + at);
            at += length;
        }
    }

  private:
    void reduce(const float *x, std::size_t length, float *out) const {
        if (inner_ == 1) {
            *out = reduction_ == Reduction::largest ? loops_.max(x, reduced_) : loops_.sum(x, reduced_);
        } else {
            std::copy_n(x, length, out);
            for (std::size_t i = 1; i < reduced_; ++i)
                for (std::size_t at = 0; at < length; at += block) {
                    // The loops take arrays that do not overlap: through a buffer on the stack.
                    float held[block];
                    const auto n = std::min(block, length - at);
                    step_(out + at, x + i * inner_ + at, held, n);
                    std::copy_n(held, n, out + at);
                }
        }
        if (reduction_ == Reduction::mean)
            for (std::size_t i = 0; i < length; ++i)
                out[i] /= static_cast<float>(reduced_);
    }

    static constexpr std::size_t block = 1024;
    std::size_t outer_, reduced_, inner_;
    Reduction reduction_;
    const Loops &loops_;
    Binary step_;
};

} // namespace

Made make_batch_norm(Sizes &sizes, const Loops &loops) { return std::make_unique<BatchNorm>(sizes, loops); }
Made make_batch_norm_gradient(Sizes &sizes, const Loops &loops) {
    return std::make_unique<BatchNormGradient>(sizes, loops);
}
Made make_layer_norm(Sizes &sizes, const Loops &loops) { return std::make_unique<LayerNorm>(sizes, loops); }
Made make_layer_norm_gradient(Sizes &sizes, const Loops &loops) {
    return std::make_unique<LayerNormGradient>(sizes, loops);
}
Made make_softmax(Sizes &sizes, const Loops &loops) { return std::make_unique<Softmax>(sizes, loops); }
Made make_softmax_gradient(Sizes &sizes, const Loops &loops) {
    return std::make_unique<SoftmaxGradient>(sizes, loops);
}
Made make_reduction(Sizes &sizes, Reduction reduction, const Loops &loops) {
    return std::make_unique<Reduce>(sizes, reduction, loops);
}

} // namespace simsched
