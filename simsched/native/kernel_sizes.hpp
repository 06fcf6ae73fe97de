#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>

namespace simsched {

constexpr std::size_t max_elements = std::size_t{1} << 40;

// Throws std::invalid_argument where no memory could hold so many.
inline std::size_t elements(std::initializer_list<std::size_t> sizes) {
    std::size_t n = 1;
    for (const auto size : sizes)
        if (__builtin_mul_overflow(n, size, &n) || n > max_elements)
            throw std::invalid_argument("an operand has more than 2^40 elements");
    return n;
}

// Sizes one after another, each checked.
class Sizes {
  public:
    Sizes(std::string kernel, std::span<const std::int64_t> sizes)
        : kernel_(std::move(kernel)), left_(sizes) {}

    // BLAS counts in 32 bits; others say what is their most.
    std::size_t next(const char *what, std::int64_t least = 1, std::int64_t most = INT32_MAX) {
        if (left_.empty())
            throw std::invalid_argument("kernel " + kernel_ + " needs more sizes: " + what);
        const auto size = left_.front();
        if (size < least || size > most)
            throw std::invalid_argument("kernel " + kernel_ + ": " + what + " is " + std::to_string(size));
        left_ = left_.subspan(1);
        return static_cast<std::size_t>(size);
    }
    bool empty() const { return left_.empty(); }
    void end() const {
        if (!left_.empty())
            throw std::invalid_argument("kernel " + kernel_ + " was given more sizes than it has");
    }

  private:
    std::string kernel_;
    std::span<const std::int64_t> left_;
};

} // namespace simsched
