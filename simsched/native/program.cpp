#include "program.hpp"

#include <new>
#include <stdexcept>
#include <string>

namespace simsched {

namespace {

constexpr std::align_val_t line{64};

std::size_t place(std::int64_t begin, std::size_t size, std::span<float> arena, std::size_t task) {
    if (begin < 0 || static_cast<std::size_t>(begin) > arena.size() ||
        size > arena.size() - static_cast<std::size_t>(begin))
        throw std::invalid_argument("an operand of task " + std::to_string(task) + " lies outside the arena");
    return static_cast<std::size_t>(begin);
}

} // namespace

void Program::Free::operator()(float *p) const { ::operator delete[](p, line); }

Program::Program(std::vector<std::shared_ptr<const Kernel>> kernels, std::span<const std::int32_t> kernel_of,
                 std::span<const std::int64_t> operands, std::span<float> arena)
    : kernels_(std::move(kernels)), tasks_(kernel_of.size()) {
    bind(kernel_of, operands, arena);
}

void Program::bind(std::span<const std::int32_t> kernel_of, std::span<const std::int64_t> operands,
                   std::span<float> arena) {
    inputs_.reserve(operands.size());
    std::vector<std::pair<std::size_t, std::size_t>> outputs;
    std::size_t next = 0;
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
        if (kernel_of[task] == spins)
            continue;
        if (kernel_of[task] < 0 || static_cast<std::size_t>(kernel_of[task]) >= kernels_.size())
            throw std::invalid_argument("task " + std::to_string(task) + " has a kernel that does not exist");
        const Kernel &kernel = *kernels_[static_cast<std::size_t>(kernel_of[task])];
        if (operands.size() - next <= kernel.inputs.size())
            throw std::invalid_argument("there are fewer operands than the kernels have");
        const auto begin = place(operands[next++], kernel.output, arena, task);
        outputs.emplace_back(begin, begin + kernel.output);
        tasks_[task] = {&kernel, inputs_.size(), arena.data() + begin};
        for (const auto size : kernel.inputs)
            inputs_.push_back(arena.data() + place(operands[next++], size, arena, task));
    }
    if (next != operands.size())
        throw std::invalid_argument("there are more operands than the kernels have");
    std::sort(outputs.begin(), outputs.end());
    for (std::size_t i = 1; i < outputs.size(); ++i)
        if (outputs[i].first < outputs[i - 1].second)
            throw std::invalid_argument("two outputs share memory");
}

void Program::reserve(std::size_t workers) {
    std::size_t most = 0;
    for (const auto &kernel : kernels_)
        most = std::max(most, kernel->scratch);
    if (most)
        while (scratch_.size() < workers)
            scratch_.emplace_back(static_cast<float *>(::operator new[](most * sizeof(float), line)));
}

void fill(std::span<float> arena) {
    std::uint32_t state = 1;
    for (auto &value : arena) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<std::int32_t>(state | 256u)) * 0x1p-31f;
    }
}

} // namespace simsched
