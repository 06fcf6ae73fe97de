#include "kernels.hpp"

#include <limits>

namespace simsched {

namespace {

// Sizes: planes, height, width, window height and width, vertical and horizontal stride, vertical and
// horizontal padding. Averages count what lies beyond the borders, as zeros.
class Windows : public Kernel {
  public:
    Windows(Sizes &sizes, bool largest)
        : planes_(sizes.next("planes")), height_(sizes.next("height")), width_(sizes.next("width")),
          window_y_(sizes.next("window height")), window_x_(sizes.next("window width")),
          stride_y_(sizes.next("vertical stride")), stride_x_(sizes.next("horizontal stride")),
          pad_y_(sizes.next("vertical padding", 0)), pad_x_(sizes.next("horizontal padding", 0)),
          largest_(largest) {
        if (window_y_ > height_ + 2 * pad_y_ || window_x_ > width_ + 2 * pad_x_ || pad_y_ >= window_y_ ||
            pad_x_ >= window_x_)
            throw std::invalid_argument(
                "a window does not fit into its image, or has more padding than size");
        out_height_ = (height_ + 2 * pad_y_ - window_y_) / stride_y_ + 1;
        out_width_ = (width_ + 2 * pad_x_ - window_x_) / stride_x_ + 1;
    }

  protected:
    static Part::Range inside(std::size_t first, std::size_t pad, std::size_t window, std::size_t size) {
        const auto end = first + window;
        return {first > pad ? first - pad : 0, std::min(end > pad ? end - pad : 0, size)};
    }
    std::size_t images() const { return elements({planes_, height_, width_}); }
    std::size_t pooled() const { return elements({planes_, out_height_, out_width_}); }

    std::size_t planes_, height_, width_, window_y_, window_x_, stride_y_, stride_x_, pad_y_, pad_x_;
    bool largest_;
    std::size_t out_height_ = 0, out_width_ = 0;
};

class Pooling final : public Windows {
  public:
    Pooling(Sizes &sizes, bool largest) : Windows(sizes, largest) {
        inputs = {images()};
        output = pooled();
        scratch = width_ + 2 * pad_x_;
    }

    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(planes_ * out_height_);
        for (auto row = mine.begin; row < mine.end; ++row)
            pool(o.inputs[0] + row / out_height_ * height_ * width_, row % out_height_, o.scratch,
                 o.output + row * out_width_);
    }

  private:
    // The rows of a window become one, with what lies beyond the borders at its ends, and its columns then:
    // loops that go by vectors.
    void pool(const float *plane, std::size_t y, float *row, float *out) const {
        const auto ys = inside(y * stride_y_, pad_y_, window_y_, height_);
        const float beyond = largest_ ? -std::numeric_limits<float>::infinity() : 0.0f;
        std::fill_n(row, pad_x_, beyond);
        float *middle = std::copy_n(plane + ys.begin * width_, width_, row + pad_x_) - width_;
        std::fill_n(middle + width_, pad_x_, beyond);
        for (auto in_y = ys.begin + 1; in_y < ys.end; ++in_y)
            combine(middle, plane + in_y * width_, 1, width_);
        for (std::size_t x = 0; x < out_width_; ++x)
            out[x] = row[x * stride_x_];
        for (std::size_t in_x = 1; in_x < window_x_; ++in_x)
            combine(out, row + in_x, stride_x_, out_width_);
        if (!largest_)
            for (std::size_t x = 0; x < out_width_; ++x)
                out[x] /= static_cast<float>(window_y_ * window_x_);
    }
    void combine(float *__restrict into, const float *__restrict from, std::size_t stride,
                 std::size_t n) const {
        if (largest_ && stride == 1)
            for (std::size_t i = 0; i < n; ++i)
                into[i] = from[i] > into[i] ? from[i] : into[i];
        else if (largest_)
            for (std::size_t i = 0; i < n; ++i)
                into[i] = std::max(into[i], from[i * stride]);
        else if (stride == 1)
            for (std::size_t i = 0; i < n; ++i)
                into[i] += from[i];
        else
            for (std::size_t i = 0; i < n; ++i)
                into[i] += from[i * stride];
    }
};

// Inputs: images, what pooling made of them, and its gradient, for the largest; the gradient alone for
// averages.
class PoolingGradient final : public Windows {
  public:
    PoolingGradient(Sizes &sizes, bool largest) : Windows(sizes, largest) {
        inputs = {pooled()};
        if (largest)
            inputs = {images(), pooled(), pooled()};
        output = images();
    }

    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(planes_);
        const auto in = height_ * width_, out = out_height_ * out_width_;
        for (auto plane = mine.begin; plane < mine.end; ++plane) {
            std::fill_n(o.output + plane * in, in, 0.0f);
            const float *dy = o.inputs.back() + plane * out;
            for (std::size_t y = 0; y < out_height_; ++y)
                for (std::size_t x = 0; x < out_width_; ++x, ++dy)
                    if (largest_)
                        to_largest(o, plane, y, x, *dy);
                    else
                        to_all(o.output + plane * in, y, x, *dy);
        }
    }

  private:
    // The first of equally large ones has the gradient.
    void to_largest(const Operands &o, std::size_t plane, std::size_t y, std::size_t x, float dy) const {
        const auto start = plane * height_ * width_;
        const float largest = o.inputs[1][(plane * out_height_ + y) * out_width_ + x];
        const auto ys = inside(y * stride_y_, pad_y_, window_y_, height_);
        const auto xs = inside(x * stride_x_, pad_x_, window_x_, width_);
        for (auto in_y = ys.begin; in_y < ys.end; ++in_y)
            for (auto in_x = xs.begin; in_x < xs.end; ++in_x)
                if (const auto at = start + in_y * width_ + in_x; o.inputs[0][at] == largest) {
                    o.output[at] += dy;
                    return;
                }
    }
    void to_all(float *plane, std::size_t y, std::size_t x, float dy) const {
        const auto ys = inside(y * stride_y_, pad_y_, window_y_, height_);
        const auto xs = inside(x * stride_x_, pad_x_, window_x_, width_);
        for (auto in_y = ys.begin; in_y < ys.end; ++in_y)
            for (auto in_x = xs.begin; in_x < xs.end; ++in_x)
                plane[in_y * width_ + in_x] += dy / static_cast<float>(window_y_ * window_x_);
    }
};

} // namespace

Made make_pooling_gradient(Sizes &sizes, bool largest) {
    return std::make_unique<PoolingGradient>(sizes, largest);
}
Made make_pooling(Sizes &sizes, bool largest) { return std::make_unique<Pooling>(sizes, largest); }

} // namespace simsched
