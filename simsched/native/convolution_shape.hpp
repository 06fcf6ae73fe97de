#pragma once

#include "kernel.hpp"
#include "kernel_sizes.hpp"
#include "kernels.hpp"

namespace simsched {

// Sizes: batch, channels, height, width, filters, filter height and width, vertical and horizontal stride,
// vertical and horizontal padding, groups, whether there is a bias (of the filters; only forward).
struct ConvolutionShape {
    // Blocks fill half of an L2 of 1 MiB, but are not so narrow that a matrix product spends its time on
    // packing.
    static constexpr std::size_t scratch_floats = 1 << 17, least_pixels = 128;

    explicit ConvolutionShape(Sizes &sizes)
        : batch(sizes.next("batch")), channels(sizes.next("channels")), height(sizes.next("height")),
          width(sizes.next("width")), filters(sizes.next("filters")),
          filter_height(sizes.next("filter height")), filter_width(sizes.next("filter width")),
          stride_y(sizes.next("vertical stride")), stride_x(sizes.next("horizontal stride")),
          pad_y(sizes.next("vertical padding", 0)), pad_x(sizes.next("horizontal padding", 0)),
          groups(sizes.next("groups")), bias(sizes.next("bias", 0)) {
        if (filter_height > height + 2 * pad_y || filter_width > width + 2 * pad_x)
            throw std::invalid_argument("a filter does not fit into its image");
        if (channels % groups || filters % groups)
            throw std::invalid_argument("channels and filters divide into equal groups");
        out_width = (width + 2 * pad_x - filter_width) / stride_x + 1;
        taps = elements({filter_height, filter_width});
        pixels = elements({(height + 2 * pad_y - filter_height) / stride_y + 1, out_width});
        plane = elements({height, width});
        group_filters = filters / groups;
        rows = elements({channels / groups, taps});
        input = elements({batch, channels, plane});
        output = elements({batch, filters, pixels});
        weights = elements({filters, rows});
        // BLAS counts in 32 bits.
        for (const auto size : {pixels, plane, rows})
            if (size > INT32_MAX)
                throw std::invalid_argument("a plane or a filter has more than 2^31 - 1 elements");
        plain = taps == 1 && stride_y == 1 && stride_x == 1 && pad_y == 0 && pad_x == 0;
    }

    // Pixels of a block of so many rows.
    std::size_t block(std::size_t of_rows) const {
        return std::min(pixels, std::max(scratch_floats / of_rows, least_pixels));
    }
    // Floats of the largest block of any direction.
    std::size_t most_scratch() const {
        const auto floats = (scratch_floats + rows - 1) / rows;
        return plain ? 0 : elements({rows, std::min(pixels, std::max(floats, least_pixels))});
    }

    // Visits the pixels [begin, end) of output row after output row as runs: visit(first pixel, y, x,
    // length).
    template <class Visit> void each_run(Part::Range pixels_, Visit &&visit) const {
        for (auto p = pixels_.begin; p < pixels_.end;) {
            const auto x = p % out_width, length = std::min(out_width - x, pixels_.end - p);
            visit(p, p / out_width, x, length);
            p += length;
        }
    }
    // Calls visit(pixel, place in the plane) for the pixels of a run that a tap reaches, and miss(pixel) for
    // others.
    template <class Visit, class Miss>
    void each_tap(std::size_t tap, std::size_t y, std::size_t x, std::size_t length, Visit &&visit,
                  Miss &&miss) const {
        const auto in_y = y * stride_y + tap / filter_width - pad_y; // wraps round where negative
        const auto tap_x = tap % filter_width;
        for (std::size_t i = 0; i < length; ++i) {
            const auto in_x = (x + i) * stride_x + tap_x - pad_x;
            if (in_y < height && in_x < width)
                visit(i, in_y * width + in_x);
            else
                miss(i);
        }
    }

    // Lays out rows (channel, tap) x pixels of one group of one image.
    void lay_out(const float *image, Part::Range of_rows, Part::Range of_pixels, float *columns) const {
        for (auto row = of_rows.begin; row < of_rows.end; ++row) {
            const float *channel = image + row / taps * plane;
            float *out = columns + (row - of_rows.begin) * of_pixels.size();
            each_run(of_pixels, [&](std::size_t p, std::size_t y, std::size_t x, std::size_t length) {
                run_of(channel, row % taps, y, x, length, out + (p - of_pixels.begin));
            });
        }
    }
    void run_of(const float *channel, std::size_t tap, std::size_t y, std::size_t x, std::size_t length,
                float *out) const {
        const auto in_y = y * stride_y + tap / filter_width - pad_y;
        if (in_y >= height) {
            std::fill_n(out, length, 0.0f);
            return;
        }
        if (stride_x != 1) {
            each_tap(
                tap, y, x, length, [&](std::size_t i, std::size_t at) { out[i] = channel[at]; },
                [&](std::size_t i) { out[i] = 0.0f; });
            return;
        }
        // One stretch of the image, with what lies beyond its borders as zeros.
        const auto first =
            static_cast<std::ptrdiff_t>(x + tap % filter_width) - static_cast<std::ptrdiff_t>(pad_x);
        const auto n = static_cast<std::ptrdiff_t>(length), wide = static_cast<std::ptrdiff_t>(width);
        const auto from = std::clamp<std::ptrdiff_t>(-first, 0, n);
        const auto to = std::clamp<std::ptrdiff_t>(wide - first, from, n);
        std::fill_n(out, from, 0.0f);
        std::copy_n(channel + static_cast<std::ptrdiff_t>(in_y * width) + first + from, to - from,
                    out + from);
        std::fill_n(out + to, n - to, 0.0f);
    }
    // The reverse: adds rows x pixels onto the image.
    void add_back(const float *columns, Part::Range of_rows, Part::Range of_pixels, float *image) const {
        for (auto row = of_rows.begin; row < of_rows.end; ++row) {
            float *channel = image + row / taps * plane;
            const float *in = columns + (row - of_rows.begin) * of_pixels.size();
            each_run(of_pixels, [&](std::size_t p, std::size_t y, std::size_t x, std::size_t length) {
                const float *run = in + (p - of_pixels.begin);
                each_tap(
                    row % taps, y, x, length, [&](std::size_t i, std::size_t at) { channel[at] += run[i]; },
                    [](std::size_t) {});
            });
        }
    }

    std::size_t batch, channels, height, width, filters, filter_height, filter_width, stride_y, stride_x,
        pad_y, pad_x, groups, bias;
    std::size_t out_width, taps, pixels, plane, group_filters, rows, input, output, weights;
    bool plain; // the image is its own columns
};

// Elements of the operands in each direction.
struct ConvolutionOperands {
    ConvolutionOperands(const ConvolutionShape &s, Direction direction) {
        if (s.bias > 1 || (s.bias && direction != Direction::forward))
            throw std::invalid_argument("bias of a convolution is 0, or 1 in forward direction");
        switch (direction) {
        case Direction::forward: // x, w, bias
            inputs = {s.input, s.weights};
            if (s.bias)
                inputs.push_back(s.filters);
            output = s.output;
            break;
        case Direction::data: // dy, w
            inputs = {s.output, s.weights};
            output = s.input;
            break;
        case Direction::weights: // dy, x
            inputs = {s.output, s.input};
            output = s.weights;
            break;
        case Direction::both: // dy, x, w; dx, then dw
            inputs = {s.output, s.input, s.weights};
            output = s.input + s.weights;
        }
    }
    std::vector<std::size_t> inputs;
    std::size_t output = 0;
};

} // namespace simsched
