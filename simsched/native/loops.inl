// The loops themselves. Each file that includes this is compiled for one instruction set and says its name as LOOPS.
// Nothing here may be a function that another file has, too: the linker would keep either, and a machine without the
// instruction set would meet it. So no templates of the standard library, and everything in a namespace without name.

#include "loops.hpp"

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace simsched {

namespace {

// Of NaN and a number the first, as the instructions do: what is not a number stays so.
inline float least(float a, float b) { return b < a ? b : a; }
inline float most(float a, float b) { return b > a ? b : a; }

// 2^(x log2 e): the whole part into the exponent, the rest by the polynomial of Cephes' expf. Within 2 ulp.
inline float exponential(float x) {
    x = least(most(x, -87.0f), 88.0f);
    const float shifted = x * 1.44269504f + 12582912.0f; // rounds to a whole number
    const float whole = shifted - 12582912.0f;
    const float r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t power; // the whole part stands in the lowest bits of what was rounded
    memcpy(&power, &shifted, 4);
    power = (power + 127) << 23;
    float scale;
    memcpy(&scale, &power, 4);
    return p * scale;
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
inline float tangent(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }
inline float gelu(float x) { return x * sigmoid(1.59576912f * (x + 0.044715f * x * x * x)); }
inline float gelu_slope(float x) {
    const float s = sigmoid(1.59576912f * (x + 0.044715f * x * x * x));
    return s + x * s * (1.0f - s) * 1.59576912f * (1.0f + 0.134145f * x * x);
}

#define UNARY(NAME, VALUE)                                                                                   \
    void unary_##NAME(const float *__restrict x, float *__restrict out, size_t n) {                          \
        for (size_t i = 0; i < n; ++i) {                                                                     \
            const float a = x[i];                                                                            \
            out[i] = VALUE;                                                                                  \
        }                                                                                                    \
    }
#define UNARIES(DO)                                                                                          \
    DO(copy, a)                                                                                              \
    DO(negate, -a)                                                                                           \
    DO(absolute, fabsf(a))                                                                                   \
    DO(square, a *a)                                                                                         \
    DO(root, sqrtf(a))                                                                                       \
    DO(inverse_root, 1.0f / sqrtf(a))                                                                        \
    DO(reciprocal, 1.0f / a)                                                                                 \
    DO(relu, most(a, 0.0f))                                                                                  \
    DO(exp, exponential(a))                                                                                  \
    DO(log, logf(a))                                                                                         \
    DO(sine, sinf(a))                                                                                        \
    DO(erf, erff(a))                                                                                         \
    DO(sigmoid, sigmoid(a))                                                                                  \
    DO(tanh, tangent(a))                                                                                     \
    DO(silu, a *sigmoid(a))                                                                                  \
    DO(gelu, gelu(a))
UNARIES(UNARY)

#define BINARY(NAME, VALUE)                                                                                  \
    void binary_##NAME(const float *__restrict x, const float *__restrict y, float *__restrict out,          \
                       size_t n) {                                                                           \
        for (size_t i = 0; i < n; ++i) {                                                                     \
            const float a = x[i], b = y[i];                                                                  \
            out[i] = VALUE;                                                                                  \
        }                                                                                                    \
    }                                                                                                        \
    void scalar_##NAME(const float *__restrict x, float b, float *__restrict out, size_t n) {                \
        for (size_t i = 0; i < n; ++i) {                                                                     \
            const float a = x[i];                                                                            \
            out[i] = VALUE;                                                                                  \
        }                                                                                                    \
    }
#define BINARIES(DO)                                                                                         \
    DO(add, a + b)                                                                                           \
    DO(subtract, a - b)                                                                                      \
    DO(multiply, a *b)                                                                                       \
    DO(divide, a / b)                                                                                        \
    DO(maximum, most(a, b))                                                                                  \
    DO(minimum, least(a, b))                                                                                 \
    DO(not_less, a >= b ? 1.0f : 0.0f)                                                                       \
    DO(relu_gradient, b > 0.0f ? a : 0.0f)                                                                   \
    DO(sigmoid_gradient, a *b *(1.0f - b))                                                                   \
    DO(tanh_gradient, a *(1.0f - b * b))                                                                     \
    DO(gelu_gradient, a *gelu_slope(b))
BINARIES(BINARY)

#define NAME_UNARY(NAME, VALUE) {#NAME, unary_##NAME},
#define NAME_BINARY(NAME, VALUE) {#NAME, binary_##NAME, scalar_##NAME},
const Loops::NamedUnary all_unary[] = {UNARIES(NAME_UNARY)};
const Loops::NamedBinary all_binary[] = {BINARIES(NAME_BINARY)};

float sum(const float *x, size_t n) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; ++i)
        total += x[i];
    return total;
}

float max(const float *x, size_t n) {
    float found = x[0];
#pragma omp simd reduction(max : found)
    for (size_t i = 0; i < n; ++i)
        found = x[i] > found ? x[i] : found;
    return found;
}

float dot(const float *x, const float *y, size_t n) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; ++i)
        total += x[i] * y[i];
    return total;
}

float squares(const float *x, float mean, size_t n) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; ++i)
        total += (x[i] - mean) * (x[i] - mean);
    return total;
}

void affine(const float *__restrict x, float scale, float shift, float *__restrict out, size_t n) {
    for (size_t i = 0; i < n; ++i)
        out[i] = x[i] * scale + shift;
}

float exponentials(const float *__restrict x, float shift, float *__restrict out, size_t n) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; ++i) {
        const float e = exponential(x[i] - shift);
        out[i] = e;
        total += e;
    }
    return total;
}

} // namespace

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
extern const Loops JOIN(loops_, LOOPS);
const Loops JOIN(loops_, LOOPS) = {
    TEXT(LOOPS), all_unary, sizeof(all_unary) / sizeof(all_unary[0]),
    all_binary,  sizeof(all_binary) / sizeof(all_binary[0]),
    sum,         max,
    dot,         squares,
    affine,      exponentials,
};

} // namespace simsched
