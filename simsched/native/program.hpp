#pragma once

#include "kernel.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace simsched {

// What the tasks of a graph do when it really runs: kernels on operands in one arena, or spinning.
class Program {
  public:
    static constexpr std::int32_t spins = -1;

    // kernel_of: of each task, or `spins`. operands: of the tasks with a kernel, one after another, where the
    // output and each input begin in the arena. Throws std::invalid_argument unless all lie within it,
    // outputs apart.
    Program(std::vector<std::shared_ptr<const Kernel>> kernels, std::span<const std::int32_t> kernel_of,
            std::span<const std::int64_t> operands, std::span<float> arena);

    std::size_t n_tasks() const { return tasks_.size(); }
    // Makes room for so many workers.
    void reserve(std::size_t workers);
    bool is_kernel(std::size_t task) const { return tasks_[task].kernel; }
    void run(std::size_t task, Part part, std::size_t worker) const {
        const auto &t = tasks_[task];
        t.kernel->run({{inputs_.data() + t.first_input, t.kernel->inputs.size()},
                       t.output,
                       scratch_.empty() ? nullptr : scratch_[worker].get()},
                      part);
    }

  private:
    struct Task {
        const Kernel *kernel = nullptr;
        std::size_t first_input = 0;
        float *output = nullptr;
    };
    struct Free {
        void operator()(float *p) const;
    };
    void bind(std::span<const std::int32_t> kernel_of, std::span<const std::int64_t> operands,
              std::span<float> arena);

    std::vector<std::shared_ptr<const Kernel>> kernels_;
    std::vector<Task> tasks_;
    std::vector<const float *> inputs_;
    std::vector<std::unique_ptr<float[], Free>> scratch_; // of each worker
};

// Numbers of no special kind, in [-1, 1): no zeros that a kernel could gain from, none so small that it would
// be slow.
void fill(std::span<float> arena);

} // namespace simsched
