#include "kernels.hpp"

namespace simsched {

namespace {

struct Named {
    const char *name;
    Made (*make)(Sizes &, const Loops &);
};

const Named special[] = {
    {"gemm", [](Sizes &s, const Loops &) { return make_gemm(s); }},
    {"convolution", [](Sizes &s, const Loops &) { return make_convolution(s, Direction::forward); }},
    {"convolution_data", [](Sizes &s, const Loops &) { return make_convolution(s, Direction::data); }},
    {"convolution_weights", [](Sizes &s, const Loops &) { return make_convolution(s, Direction::weights); }},
    {"convolution_both", [](Sizes &s, const Loops &) { return make_convolution(s, Direction::both); }},
#ifdef SIMSCHED_ONEDNN
    {"onednn_convolution",
     [](Sizes &s, const Loops &) { return make_onednn_convolution(s, Direction::forward); }},
    {"onednn_convolution_data",
     [](Sizes &s, const Loops &) { return make_onednn_convolution(s, Direction::data); }},
    {"onednn_convolution_weights",
     [](Sizes &s, const Loops &) { return make_onednn_convolution(s, Direction::weights); }},
    {"onednn_convolution_both",
     [](Sizes &s, const Loops &) { return make_onednn_convolution(s, Direction::both); }},
#endif
    {"pool_max", [](Sizes &s, const Loops &) { return make_pooling(s, true); }},
    {"pool_average", [](Sizes &s, const Loops &) { return make_pooling(s, false); }},
    {"pool_max_gradient", [](Sizes &s, const Loops &) { return make_pooling_gradient(s, true); }},
    {"pool_average_gradient", [](Sizes &s, const Loops &) { return make_pooling_gradient(s, false); }},
    {"sum_of", make_sum},
    {"batch_norm", make_batch_norm},
    {"batch_norm_gradient", make_batch_norm_gradient},
    {"layer_norm", make_layer_norm},
    {"layer_norm_gradient", make_layer_norm_gradient},
    {"softmax", make_softmax},
    {"softmax_gradient", make_softmax_gradient},
    {"local_response", [](Sizes &s, const Loops &) { return make_local_response(s); }},
    {"local_response_gradient", [](Sizes &s, const Loops &) { return make_local_response_gradient(s); }},
    {"reduce_sum", [](Sizes &s, const Loops &l) { return make_reduction(s, Reduction::sum, l); }},
    {"reduce_mean", [](Sizes &s, const Loops &l) { return make_reduction(s, Reduction::mean, l); }},
    {"reduce_max", [](Sizes &s, const Loops &l) { return make_reduction(s, Reduction::largest, l); }},
    {"concatenation", [](Sizes &s, const Loops &) { return make_concatenation(s); }},
    {"split", [](Sizes &s, const Loops &) { return make_split(s); }},
    {"slice", [](Sizes &s, const Loops &) { return make_slice(s); }},
    {"embedding", [](Sizes &s, const Loops &) { return make_embedding(s); }},
};

Made made(const std::string &name, Sizes &sizes, const Loops &loops) {
    for (const auto &each : special)
        if (name == each.name)
            return each.make(sizes, loops);
    for (std::size_t i = 0; i < loops.n_unary; ++i)
        if (name == loops.unary[i].name)
            return make_unary(sizes, loops.unary[i]);
    for (std::size_t i = 0; i < loops.n_binary; ++i)
        if (name == loops.binary[i].name)
            return make_binary(sizes, loops.binary[i]);
    throw std::invalid_argument("there is no kernel " + name);
}

} // namespace

#ifndef SIMSCHED_ONEDNN
std::string onednn_version() { return ""; }
#endif

Made make_kernel(const std::string &name, const std::vector<std::int64_t> &sizes, const Loops &loops) {
    Sizes left(name, sizes);
    auto kernel = made(name, left, loops);
    left.end();
    return kernel;
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const auto &each : special)
        names.emplace_back(each.name);
    const auto &any = loops("base");
    for (std::size_t i = 0; i < any.n_unary; ++i)
        names.emplace_back(any.unary[i].name);
    for (std::size_t i = 0; i < any.n_binary; ++i)
        names.emplace_back(any.binary[i].name);
    return names;
}

} // namespace simsched
