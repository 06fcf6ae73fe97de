#pragma once

#include "loops.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Kernels of tasks: FP32, row-major, images as NCHW. A kernel divides into parts that need nothing of each
// other, one a thread of the team: no barriers.

namespace simsched {

// The part `rank` of `width`.
struct Part {
    std::size_t rank = 0, width = 1;

    struct Range {
        std::size_t begin, end;
        std::size_t size() const { return end - begin; }
        bool empty() const { return begin >= end; }
    };
    // This part of n things, cut at multiples of `grain`.
    Range of(std::size_t n, std::size_t grain = 1) const {
        const auto grains = (n + grain - 1) / grain;
        return {std::min(n, grains * rank / width * grain), std::min(n, grains * (rank + 1) / width * grain)};
    }
};

struct Operands {
    std::span<const float *const> inputs;
    float *output;
    float *scratch; // of the thread
};

class Kernel {
  public:
    virtual ~Kernel() = default;
    virtual void run(const Operands &operands, Part part) const = 0;

    // Elements of each input, of the output and of each thread's scratch.
    std::vector<std::size_t> inputs;
    std::size_t output = 0, scratch = 0;
};

// The kernel of a name and its sizes; see kernels.cpp for what each means. Throws std::invalid_argument.
std::unique_ptr<Kernel> make_kernel(const std::string &name, const std::vector<std::int64_t> &sizes,
                                    const Loops &loops);
std::vector<std::string> kernel_names();
// "" where kernels by oneDNN are not built.
std::string onednn_version();

} // namespace simsched
