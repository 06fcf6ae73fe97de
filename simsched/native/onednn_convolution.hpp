#pragma once

#include "convolution_shape.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <omp.h>
#include <unordered_map>

// Convolutions of oneDNN, compiled for a block of one of ours.

namespace simsched::onednn {

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

inline const dnnl::engine &engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

// Memory of the calling thread for operands in their inner layout, at a cache line.
inline char *buffer(std::size_t bytes) {
    thread_local std::vector<char> held;
    if (held.size() < bytes + 64)
        held.resize(bytes + 64);
    const auto begin = reinterpret_cast<std::uintptr_t>(held.data());
    return held.data() + (64 - begin % 64) % 64;
}

inline dnnl::primitive_attr own_scratchpad() {
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

inline Dims dims(std::initializer_list<std::size_t> sizes) { return {sizes.begin(), sizes.end()}; }

inline memory::desc strided(const Dims &sizes, const Dims &strides) {
    return {sizes, memory::data_type::f32, strides};
}

inline memory::desc any(const memory::desc &other) {
    return {other.get_dims(), memory::data_type::f32, memory::format_tag::any};
}

// As the operands of the whole lie in memory.
inline Layouts layouts(const ConvolutionShape &s, const Block &b) {
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

} // namespace simsched::onednn
