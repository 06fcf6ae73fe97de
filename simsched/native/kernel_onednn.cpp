#include "convolution_shape.hpp"
#include "kernels.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <map>
#include <mutex>
#include <omp.h>
#include <unordered_map>

// Convolutions by oneDNN: the same sizes, operands and results as in kernel_convolution.cpp. Operands are
// laid out anew for it in every run, as frameworks do with those that come from elsewhere.

namespace simsched {

namespace {

using dnnl::memory;
using Dims = memory::dims;

// oneDNN divides over OpenMP threads by itself; a part has one.
class OneThread {
  public:
    OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(before_); }

  private:
    int before_;
};

const dnnl::engine &engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

// Memory of the calling thread for operands in their inner layout, at a cache line.
char *buffer(std::size_t bytes) {
    thread_local std::vector<char> held;
    if (held.size() < bytes + 64)
        held.resize(bytes + 64);
    const auto begin = reinterpret_cast<std::uintptr_t>(held.data());
    return held.data() + (64 - begin % 64) % 64;
}

dnnl::primitive_attr own_scratchpad() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user); // the library's own belongs to one thread
    return attributes;
}

// What a part convolves: some images, some groups, and where there is one group some channels or filters.
struct Block {
    std::size_t images, groups, channels, filters; // channels and filters of all its groups
    auto operator<=>(const Block &) const = default;
};

struct Layouts {
    memory::desc x, w, y, bias;
};

Dims dims(std::initializer_list<std::size_t> sizes) { return {sizes.begin(), sizes.end()}; }

memory::desc strided(const Dims &sizes, const Dims &strides) {
    return {sizes, memory::data_type::f32, strides};
}

memory::desc any(const memory::desc &other) {
    return {other.get_dims(), memory::data_type::f32, memory::format_tag::any};
}

// As the operands of the whole lie in memory.
Layouts layouts(const ConvolutionShape &s, const Block &b) {
    const auto height = s.pixels / s.out_width;
    const auto x = strided(dims({b.images, b.channels, s.height, s.width}),
                           dims({s.channels * s.plane, s.plane, s.width, 1}));
    const auto y = strided(dims({b.images, b.filters, height, s.out_width}),
                           dims({s.filters * s.pixels, s.pixels, s.out_width, 1}));
    auto w = dims({b.filters / b.groups, b.channels / b.groups, s.filter_height, s.filter_width});
    auto strides = dims({s.rows, s.taps, s.filter_width, 1});
    if (s.groups > 1) {
        w.insert(w.begin(), static_cast<std::int64_t>(b.groups));
        strides.insert(strides.begin(), static_cast<std::int64_t>(s.group_filters * s.rows));
    }
    return {x, strided(w, strides), y, strided(dims({b.filters}), dims({1}))};
}

// One operand: laid out anew before the convolution, or after it where it is the output.
struct Moved {
    int argument;
    memory::desc outer, inner;
    dnnl::reorder reorder; // none where both layouts are the same
    memory::desc scratchpad;
    std::size_t place = 0;
};

// A convolution of a block, compiled. Its arguments are input, input, perhaps bias, output.
class Compiled {
  public:
    Compiled(const ConvolutionShape &s, const Block &block, Direction direction, bool bias) {
        using namespace dnnl;
        const auto l = layouts(s, block);
        const auto stride = dims({s.stride_y, s.stride_x}), pad = dims({s.pad_y, s.pad_x});
        const auto direct = algorithm::convolution_direct;
        const auto attributes = own_scratchpad();
        const convolution_forward::primitive_desc forward(engine(), prop_kind::forward_training, direct,
                                                          any(l.x), any(l.w), bias ? l.bias : memory::desc(),
                                                          any(l.y), stride, pad, pad, attributes);
        if (direction == Direction::forward) {
            add(DNNL_ARG_SRC, l.x, forward.src_desc(), true);
            add(DNNL_ARG_WEIGHTS, l.w, forward.weights_desc(), true);
            if (bias)
                add(DNNL_ARG_BIAS, l.bias, l.bias, true);
            add(DNNL_ARG_DST, l.y, forward.dst_desc(), false);
            finish(convolution_forward(forward), forward.scratchpad_desc());
        } else if (direction == Direction::data) {
            const convolution_backward_data::primitive_desc data(
                engine(), direct, any(l.x), any(l.w), any(l.y), stride, pad, pad, forward, attributes);
            add(DNNL_ARG_DIFF_DST, l.y, data.diff_dst_desc(), true);
            add(DNNL_ARG_WEIGHTS, l.w, data.weights_desc(), true);
            add(DNNL_ARG_DIFF_SRC, l.x, data.diff_src_desc(), false);
            finish(convolution_backward_data(data), data.scratchpad_desc());
        } else {
            const convolution_backward_weights::primitive_desc weights(
                engine(), direct, any(l.x), any(l.w), any(l.y), stride, pad, pad, forward, attributes);
            add(DNNL_ARG_DIFF_DST, l.y, weights.diff_dst_desc(), true);
            add(DNNL_ARG_SRC, l.x, weights.src_desc(), true);
            add(DNNL_ARG_DIFF_WEIGHTS, l.w, weights.diff_weights_desc(), false);
            finish(convolution_backward_weights(weights), weights.scratchpad_desc());
        }
    }

    void run(std::initializer_list<const float *> operands) const {
        thread_local dnnl::stream stream(engine());
        char *held = buffer(bytes_);
        std::unordered_map<int, memory> arguments{{DNNL_ARG_SCRATCHPAD, {scratchpad_, engine(), held}}};
        auto pointer = operands.begin();
        std::vector<memory> outside;
        for (const auto &each : moved_) {
            // The library takes pointers to inputs and outputs alike.
            memory outer(each.outer, engine(), const_cast<float *>(*pointer++));
            memory inner = each.reorder ? memory(each.inner, engine(), held + each.place) : outer;
            if (each.reorder && &each != &moved_.back())
                move(each, outer, inner, held, stream);
            arguments.emplace(each.argument, inner);
            outside.push_back(outer);
        }
        convolution_.execute(stream, arguments);
        if (const auto &last = moved_.back(); last.reorder)
            move(last, arguments.at(last.argument), outside.back(), held, stream);
        stream.wait();
    }

  private:
    void add(int argument, const memory::desc &outer, const memory::desc &inner, bool before) {
        Moved each{argument, outer, inner, {}, {}};
        if (outer != inner) {
            const dnnl::reorder::primitive_desc how(engine(), before ? outer : inner, engine(),
                                                    before ? inner : outer, own_scratchpad());
            each.reorder = dnnl::reorder(how);
            each.scratchpad = how.scratchpad_desc();
            need(each.scratchpad);
        }
        moved_.push_back(each);
    }
    // Scratchpads, of which one is in use at a time, lie before the operands.
    void need(const memory::desc &scratchpad) { bytes_ = std::max(bytes_, line(scratchpad.get_size())); }
    void finish(const dnnl::primitive &convolution, const memory::desc &scratchpad) {
        convolution_ = convolution;
        scratchpad_ = scratchpad;
        need(scratchpad);
        for (auto &each : moved_)
            if (each.reorder) {
                each.place = bytes_;
                bytes_ += line(each.inner.get_size());
            }
    }
    static std::size_t line(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    static void move(const Moved &each, const memory &from, const memory &to, char *held,
                     const dnnl::stream &stream) {
        each.reorder.execute(stream, {{DNNL_ARG_FROM, from},
                                      {DNNL_ARG_TO, to},
                                      {DNNL_ARG_SCRATCHPAD, memory(each.scratchpad, engine(), held)}});
    }

    std::vector<Moved> moved_;
    dnnl::primitive convolution_;
    memory::desc scratchpad_;
    std::size_t bytes_ = 0;
};

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
