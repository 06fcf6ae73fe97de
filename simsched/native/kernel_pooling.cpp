#include "kernels.hpp"

#include <limits>

namespace simsched {

namespace {

// One axis of images.
struct Axis {
    std::size_t size, window, stride, pad;

    std::size_t count() const { return (size + 2 * pad - window) / stride + 1; }
    bool fits() const { return window <= size + 2 * pad && pad < window; }
    // What the window of an output covers.
    Part::Range inside(std::size_t out) const {
        const auto first = out * stride, end = first + window;
        return {first > pad ? first - pad : 0, std::min(end > pad ? end - pad : 0, size)};
    }
};

// Sizes: planes, height, width, window height and width, vertical and horizontal stride, vertical and
// horizontal padding. Averages count what lies beyond the borders, as zeros.
struct Pools {
    explicit Pools(Sizes &sizes) : planes(sizes.next("planes")) {
        y.size = sizes.next("height");
        x.size = sizes.next("width");
        y.window = sizes.next("window height");
        x.window = sizes.next("window width");
        y.stride = sizes.next("vertical stride");
        x.stride = sizes.next("horizontal stride");
        y.pad = sizes.next("vertical padding", 0);
        x.pad = sizes.next("horizontal padding", 0);
        if (!y.fits() || !x.fits())
            throw std::invalid_argument(
                "a window does not fit into its image, or has more padding than size");
    }
    std::size_t input() const { return elements({planes, y.size, x.size}); }
    std::size_t output() const { return elements({planes, y.count(), x.count()}); }
    float area() const { return static_cast<float>(y.window * x.window); }

    std::size_t planes;
    Axis y{}, x{};
};

class Pooling final : public Kernel {
  public:
    Pooling(Sizes &sizes, bool largest)
        : pools_(sizes), out_height_(pools_.y.count()), out_width_(pools_.x.count()), largest_(largest) {
        inputs = {pools_.input()};
        output = pools_.output();
        scratch = pools_.x.size + 2 * pools_.x.pad;
    }

    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(pools_.planes * out_height_);
        for (auto row = mine.begin; row < mine.end; ++row)
            pool(o.inputs[0] + row / out_height_ * pools_.y.size * pools_.x.size, row % out_height_,
                 o.scratch, o.output + row * out_width_);
    }

  private:
    // The rows of a window become one, with what lies beyond the borders at its ends, and its columns then:
    // loops that go by vectors.
    void pool(const float *plane, std::size_t y, float *row, float *out) const {
        const auto ys = pools_.y.inside(y);
        const auto [width, window, stride, pad] = pools_.x;
        const float beyond = largest_ ? -std::numeric_limits<float>::infinity() : 0.0f;
        std::fill_n(row, pad, beyond);
        float *middle = std::copy_n(plane + ys.begin * width, width, row + pad) - width;
        std::fill_n(middle + width, pad, beyond);
        for (auto in_y = ys.begin + 1; in_y < ys.end; ++in_y)
            combine(middle, plane + in_y * width, 1, width);
        for (std::size_t x = 0; x < out_width_; ++x)
            out[x] = row[x * stride];
        for (std::size_t in_x = 1; in_x < window; ++in_x)
            combine(out, row + in_x, stride, out_width_);
        if (!largest_)
            for (std::size_t x = 0; x < out_width_; ++x)
                out[x] /= pools_.area();
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

    Pools pools_;
    std::size_t out_height_, out_width_;
    bool largest_;
};

// Gradient of the data. Sizes as above. Inputs: dy, and for the largest x; of equal ones the first was taken.
// Windows overlap: a part is whole planes.
class PoolingGradient final : public Kernel {
  public:
    PoolingGradient(Sizes &sizes, bool largest) : pools_(sizes), largest_(largest) {
        output = pools_.input();
        inputs = {pools_.output()};
        if (largest)
            inputs.push_back(output);
    }

    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(pools_.planes);
        const auto plane = pools_.y.size * pools_.x.size, pooled = pools_.y.count() * pools_.x.count();
        for (auto p = mine.begin; p < mine.end; ++p) {
            std::fill_n(o.output + p * plane, plane, 0.0f);
            if (largest_)
                to_largest(o.inputs[0] + p * pooled, o.inputs[1] + p * plane, o.output + p * plane);
            else
                to_all(o.inputs[0] + p * pooled, o.output + p * plane);
        }
    }

  private:
    void to_largest(const float *dy, const float *plane, float *out) const {
        each([&](std::size_t i, Part::Range ys, Part::Range xs) {
            auto found = ys.begin * pools_.x.size + xs.begin;
            for (auto y = ys.begin; y < ys.end; ++y)
                for (auto at = y * pools_.x.size + xs.begin; at < y * pools_.x.size + xs.end; ++at)
                    found = plane[at] > plane[found] ? at : found;
            out[found] += dy[i];
        });
    }
    void to_all(const float *dy, float *out) const {
        each([&](std::size_t i, Part::Range ys, Part::Range xs) {
            const float share = dy[i] / pools_.area();
            for (auto y = ys.begin; y < ys.end; ++y)
                for (auto x = xs.begin; x < xs.end; ++x)
                    out[y * pools_.x.size + x] += share;
        });
    }
    // Calls visit(output, rows, columns) for every window of a plane.
    template <class Visit> void each(Visit &&visit) const {
        std::size_t i = 0;
        for (std::size_t y = 0; y < pools_.y.count(); ++y)
            for (std::size_t x = 0; x < pools_.x.count(); ++x)
                visit(i++, pools_.y.inside(y), pools_.x.inside(x));
    }

    Pools pools_;
    bool largest_;
};

} // namespace

Made make_pooling(Sizes &sizes, bool largest) { return std::make_unique<Pooling>(sizes, largest); }
Made make_pooling_gradient(Sizes &sizes, bool largest) {
    return std::make_unique<PoolingGradient>(sizes, largest);
}

} // namespace simsched
