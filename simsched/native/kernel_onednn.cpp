#include "kernels.hpp"
#include "onednn_convolution.hpp"

#include <map>
#include <mutex>

// Convolutions by oneDNN: the same sizes, operands and results as in kernel_convolution.cpp. Operands are
// laid out anew for it in every run, as frameworks do with those that come from elsewhere.

namespace simsched {

namespace {

using onednn::Block, onednn::Compiled, onednn::OneThread;

class OnednnConvolution final : public Kernel {
  public:
    OnednnConvolution(Sizes &sizes, Direction direction)
        : shape_(sizes), direction_(direction), operands_(shape_, direction) {
        inputs = operands_.inputs;
        output = operands_.output;
        // What the library does not have shows here, not while others run.
        const OneThread one;
        for (const auto each : directions())
            compiled(each, {shape_.batch, shape_.groups, shape_.channels, shape_.filters});
    }

    void run(const Operands &o, Part part) const override {
        const OneThread one;
        const auto &in = o.inputs;
        switch (direction_) {
        case Direction::forward:
            forward(in[0], in[1], shape_.bias ? in[2] : nullptr, o.output, part);
            break;
        case Direction::data:
            data(in[0], in[1], o.output, part);
            break;
        case Direction::weights:
            weights(in[0], in[1], o.output, part);
            break;
        case Direction::both:
            data(in[0], in[2], o.output, part);
            weights(in[0], in[1], o.output + shape_.input, part);
        }
    }

  private:
    std::vector<Direction> directions() const {
        if (direction_ == Direction::both)
            return {Direction::data, Direction::weights};
        return {direction_};
    }

    const Compiled &compiled(Direction direction, const Block &block) const {
        const std::lock_guard locked(mutex_);
        auto &found = compiled_[{direction, block}];
        if (!found)
            try {
                found = std::make_unique<Compiled>(shape_, block, direction, shape_.bias);
            } catch (const dnnl::error &error) {
                throw std::invalid_argument(std::string("oneDNN has no such convolution: ") + error.what());
            }
        return *found;
    }

    // A part is some images where there are enough, else some filters, or groups.
    void forward(const float *x, const float *w, const float *bias, float *y, Part part) const {
        const auto &s = shape_;
        if (s.batch >= part.width) {
            const auto mine = part.of(s.batch);
            if (!mine.empty())
                convolve({mine.size(), s.groups, s.channels, s.filters},
                         x + mine.begin * s.channels * s.plane, w, bias,
                         y + mine.begin * s.filters * s.pixels);
            return;
        }
        const auto mine = filters(part);
        if (mine.empty())
            return;
        const auto [groups, channels] = of_filters(mine);
        convolve({s.batch, groups, channels.size(), mine.size()}, x + channels.begin * s.plane,
                 w + mine.begin * s.rows, bias ? bias + mine.begin : nullptr, y + mine.begin * s.pixels);
    }
    void convolve(const Block &block, const float *x, const float *w, const float *bias, float *y) const {
        const auto &what = compiled(Direction::forward, block);
        if (bias)
            what.run({x, w, bias, y});
        else
            what.run({x, w, y});
    }

    // A part is some images, else some channels, or groups.
    void data(const float *dy, const float *w, float *dx, Part part) const {
        const auto &s = shape_;
        if (s.batch >= part.width) {
            const auto mine = part.of(s.batch);
            if (!mine.empty())
                compiled(Direction::data, {mine.size(), s.groups, s.channels, s.filters})
                    .run({dy + mine.begin * s.filters * s.pixels, w, dx + mine.begin * s.channels * s.plane});
            return;
        }
        if (s.groups > 1) {
            const auto mine = filters(part);
            const auto [groups, channels] = of_filters(mine);
            if (!mine.empty())
                compiled(Direction::data, {s.batch, groups, channels.size(), mine.size()})
                    .run(
                        {dy + mine.begin * s.pixels, w + mine.begin * s.rows, dx + channels.begin * s.plane});
            return;
        }
        const auto mine = part.of(s.channels, 16);
        if (!mine.empty())
            compiled(Direction::data, {s.batch, 1, mine.size(), s.filters})
                .run({dy, w + mine.begin * s.taps, dx + mine.begin * s.plane});
    }

    // A part is some filters, or groups.
    void weights(const float *dy, const float *x, float *dw, Part part) const {
        const auto &s = shape_;
        const auto mine = filters(part);
        if (mine.empty())
            return;
        const auto [groups, channels] = of_filters(mine);
        compiled(Direction::weights, {s.batch, groups, channels.size(), mine.size()})
            .run({dy + mine.begin * s.pixels, x + channels.begin * s.plane, dw + mine.begin * s.rows});
    }

    // Whole groups; where there is one, whole vectors of filters.
    Part::Range filters(Part part) const {
        return shape_.groups > 1 ? part.of(shape_.filters, shape_.group_filters)
                                 : part.of(shape_.filters, 16);
    }
    // The groups of filters, and their channels.
    std::pair<std::size_t, Part::Range> of_filters(Part::Range filters) const {
        if (shape_.groups == 1)
            return {1, {0, shape_.channels}};
        const auto each = shape_.channels / shape_.groups;
        const auto first = filters.begin / shape_.group_filters, n = filters.size() / shape_.group_filters;
        return {n, {first * each, (first + n) * each}};
    }

    ConvolutionShape shape_;
    Direction direction_;
    ConvolutionOperands operands_;
    mutable std::mutex mutex_;
    mutable std::map<std::pair<Direction, Block>, std::unique_ptr<Compiled>> compiled_;
};

} // namespace

Made make_onednn_convolution(Sizes &sizes, Direction direction) {
    return std::make_unique<OnednnConvolution>(sizes, direction);
}

std::string onednn_version() {
    const auto *version = dnnl::version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
}

} // namespace simsched
