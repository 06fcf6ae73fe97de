#include "loops.hpp"

#include <stdexcept>

namespace simsched {

extern const Loops loops_base;
#ifdef SIMSCHED_X86
extern const Loops loops_avx2, loops_avx512;
#endif

namespace {

std::vector<const Loops *> known() {
    std::vector<const Loops *> found{&loops_base};
#ifdef SIMSCHED_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&loops_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back(&loops_avx512);
#endif
    return found;
}

template <class Named> const Named &find(const Named *table, std::size_t n, const std::string &what) {
    std::string there;
    for (std::size_t i = 0; i < n; ++i) {
        if (what == table[i].name)
            return table[i];
        there += (i ? ", " : "") + std::string(table[i].name);
    }
    throw std::invalid_argument("no element-wise function is called " + what + "; there are " + there);
}

} // namespace

const Loops::NamedUnary &Loops::find_unary(const std::string &what) const {
    return find(unary, n_unary, what);
}

const Loops::NamedBinary &Loops::find_binary(const std::string &what) const {
    return find(binary, n_binary, what);
}

const Loops &loops(const std::string &instruction_set) {
    const auto all = known();
    if (instruction_set == "auto")
        return *all.back();
    for (const auto *each : all)
        if (instruction_set == each->name)
            return *each;
    throw std::invalid_argument("this machine has no instruction set " + instruction_set);
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const auto *each : known())
        names.emplace_back(each->name);
    return names;
}

} // namespace simsched
