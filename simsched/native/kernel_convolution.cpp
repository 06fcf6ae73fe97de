#include "convolution_shape.hpp"
#include "gemm.hpp"
#include "kernels.hpp"

// Convolutions as matrix products on images laid out as columns: forward, gradient of the data, gradient of
// the weights. Blocks of columns are made as they are needed, small enough to stay in the cache.

namespace simsched {

namespace {

using Shape = ConvolutionShape;

// y = w * x + bias; a part is a range of output pixels of all images.
void forward(const Shape &s, const float *x, const float *w, const float *bias, float *y, float *scratch,
             Part part) {
    const auto mine = part.of(s.batch * s.pixels, 16);
    const auto block = s.plain ? s.pixels : s.block(s.rows);
    for (auto at = mine.begin; at < mine.end;) {
        const auto image = at / s.pixels, first = at % s.pixels;
        const Part::Range pixels{first, std::min({first + block, s.pixels, first + (mine.end - at)})};
        for (std::size_t group = 0; group < s.groups; ++group) {
            const float *in = x + (image * s.channels + group * (s.channels / s.groups)) * s.plane;
            const auto filter = group * s.group_filters;
            float *out = y + (image * s.filters + filter) * s.pixels + pixels.begin;
            if (!s.plain)
                s.lay_out(in, {0, s.rows}, pixels, scratch);
            if (bias)
                for (std::size_t f = 0; f < s.group_filters; ++f)
                    std::fill_n(out + f * s.pixels, pixels.size(), bias[filter + f]);
            const Matrix columns =
                s.plain ? Matrix{in + pixels.begin, s.plane} : Matrix{scratch, pixels.size()};
            gemm(s.group_filters, pixels.size(), s.rows, {w + filter * s.rows, s.rows}, columns, bias, out,
                 s.pixels);
        }
        at += pixels.size();
    }
}

// dx from dy; a part is a range of channels of all images.
void data_gradient(const Shape &s, const float *dy, const float *w, float *dx, float *scratch, Part part) {
    const auto mine = part.of(s.batch * s.channels);
    const auto per_group = s.channels / s.groups;
    // Blocks of some channels and some pixels: matrix products want both.
    const auto pixels_at_once = s.plain ? s.pixels : std::min(s.block(s.taps), std::size_t{1024});
    const auto channels_at_once =
        s.plain ? per_group : std::max(Shape::scratch_floats / (s.taps * pixels_at_once), std::size_t{1});
    for (auto at = mine.begin; at < mine.end;) {
        const auto image = at / s.channels, channel = at % s.channels, group = channel / per_group;
        const auto first = channel % per_group;
        const auto n = std::min({channels_at_once, per_group - first, mine.end - at});
        const Part::Range rows{0, n * s.taps};
        float *out = dx + at * s.plane;
        const Matrix filters{w + group * s.group_filters * s.rows + first * s.taps, s.rows, true};
        const float *in = dy + (image * s.filters + group * s.group_filters) * s.pixels;
        if (s.plain) {
            gemm(n, s.pixels, s.group_filters, filters, {in, s.pixels}, false, out, s.plane);
        } else {
            std::fill_n(out, n * s.plane, 0.0f);
            for (std::size_t p = 0; p < s.pixels; p += pixels_at_once) {
                const Part::Range pixels{p, std::min(p + pixels_at_once, s.pixels)};
                gemm(rows.size(), pixels.size(), s.group_filters, filters, {in + p, s.pixels}, false, scratch,
                     pixels.size());
                s.add_back(scratch, rows, pixels, out);
            }
        }
        at += n;
    }
}

// dw from dy and x; a part is a range of columns of dw.
void weights_gradient(const Shape &s, const float *dy, const float *x, float *dw, float *scratch, Part part) {
    const auto mine = part.of(s.groups * s.rows, s.rows >= 16 * part.width ? 16 : 1);
    for (auto at = mine.begin; at < mine.end;) {
        const auto group = at / s.rows, first = at % s.rows;
        const Part::Range rows{first, std::min(s.rows, first + (mine.end - at))};
        const auto block = s.plain ? s.pixels : s.block(rows.size());
        for (std::size_t image = 0; image < s.batch; ++image) {
            const float *in = x + (image * s.channels + group * (s.channels / s.groups)) * s.plane;
            const float *gradient = dy + (image * s.filters + group * s.group_filters) * s.pixels;
            for (std::size_t p = 0; p < s.pixels; p += block) {
                const Part::Range pixels{p, std::min(p + block, s.pixels)};
                if (!s.plain)
                    s.lay_out(in, rows, pixels, scratch);
                const Matrix columns = s.plain ? Matrix{in + rows.begin * s.plane + p, s.plane, true}
                                               : Matrix{scratch, pixels.size(), true};
                gemm(s.group_filters, rows.size(), pixels.size(), {gradient + p, s.pixels}, columns,
                     image || p, dw + group * s.group_filters * s.rows + rows.begin, s.rows);
            }
        }
        at += rows.size();
    }
}

class Convolution final : public Kernel {
  public:
    Convolution(Sizes &sizes, Direction direction)
        : shape_(sizes), direction_(direction), operands_(shape_, direction) {
        inputs = operands_.inputs;
        output = operands_.output;
        scratch = shape_.most_scratch();
    }

    void run(const Operands &o, Part part) const override {
        const auto &in = o.inputs;
        switch (direction_) {
        case Direction::forward:
            forward(shape_, in[0], in[1], shape_.bias ? in[2] : nullptr, o.output, o.scratch, part);
            break;
        case Direction::data:
            data_gradient(shape_, in[0], in[1], o.output, o.scratch, part);
            break;
        case Direction::weights:
            weights_gradient(shape_, in[0], in[1], o.output, o.scratch, part);
            break;
        case Direction::both:
            data_gradient(shape_, in[0], in[2], o.output, o.scratch, part);
            weights_gradient(shape_, in[0], in[1], o.output + shape_.input, o.scratch, part);
        }
    }

  private:
    Shape shape_;
    Direction direction_;
    ConvolutionOperands operands_;
};

} // namespace

Made make_convolution(Sizes &sizes, Direction direction) {
    return std::make_unique<Convolution>(sizes, direction);
}

} // namespace simsched
