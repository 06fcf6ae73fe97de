#pragma once

#include "kernel.hpp"
#include "kernel_sizes.hpp"

// Kernels by family; each takes its sizes, in the order in which the file of the family names them.

namespace simsched {

using Made = std::unique_ptr<Kernel>;

Made make_gemm(Sizes &sizes);
enum class Direction { forward, data, weights, both };
Made make_convolution(Sizes &sizes, Direction direction);
#ifdef SIMSCHED_ONEDNN
Made make_onednn_convolution(Sizes &sizes, Direction direction);
#endif
Made make_pooling(Sizes &sizes, bool largest);
Made make_pooling_gradient(Sizes &sizes, bool largest);
Made make_sum(Sizes &sizes, const Loops &loops);
Made make_unary(Sizes &sizes, const Loops::NamedUnary &function);
Made make_binary(Sizes &sizes, const Loops::NamedBinary &function);
Made make_batch_norm(Sizes &sizes, const Loops &loops);
Made make_batch_norm_gradient(Sizes &sizes, const Loops &loops);
Made make_layer_norm(Sizes &sizes, const Loops &loops);
Made make_layer_norm_gradient(Sizes &sizes, const Loops &loops);
Made make_softmax(Sizes &sizes, const Loops &loops);
Made make_softmax_gradient(Sizes &sizes, const Loops &loops);
enum class Reduction { sum, mean, largest };
Made make_reduction(Sizes &sizes, Reduction reduction, const Loops &loops);
Made make_local_response(Sizes &sizes);
Made make_local_response_gradient(Sizes &sizes);
Made make_concatenation(Sizes &sizes);
Made make_split(Sizes &sizes);
Made make_slice(Sizes &sizes);
Made make_embedding(Sizes &sizes);

} // namespace simsched
