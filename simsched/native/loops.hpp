#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Loops over arrays, compiled once for each instruction set and chosen when the program runs.

namespace simsched {

using Unary = void (*)(const float *x, float *out, std::size_t n);
using Binary = void (*)(const float *a, const float *b, float *out, std::size_t n);
using BinaryScalar = void (*)(const float *a, float b, float *out, std::size_t n);

struct Loops {
    const char *name;
    struct NamedUnary {
        const char *name;
        Unary run;
    };
    struct NamedBinary {
        const char *name;
        Binary run;
        BinaryScalar with_scalar;
    };
    const NamedUnary *unary;
    std::size_t n_unary;
    const NamedBinary *binary;
    std::size_t n_binary;

    float (*sum)(const float *x, std::size_t n);
    float (*max)(const float *x, std::size_t n);
    float (*dot)(const float *x, const float *y, std::size_t n);
    // Sum of (x - mean)^2.
    float (*squares)(const float *x, float mean, std::size_t n);
    // out = x * scale + shift.
    void (*affine)(const float *x, float scale, float shift, float *out, std::size_t n);
    // out = exp(x - shift); returns the sum.
    float (*exponentials)(const float *x, float shift, float *out, std::size_t n);

    const NamedUnary &find_unary(const std::string &what) const;
    const NamedBinary &find_binary(const std::string &what) const;
};

// The instruction sets that this machine has, the best last; "auto" is that one. Throws std::invalid_argument
// on others.
const Loops &loops(const std::string &instruction_set);
std::vector<std::string> instruction_sets();

} // namespace simsched
