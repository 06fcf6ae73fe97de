#pragma once

#include <cstddef> // says which C library this is

// Functions that are compiled for several instruction sets; the widest that the CPU has runs. Without fused
// multiply-add they all round alike. Sanitizers do not get along with how one is chosen.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIMSCHED_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SIMSCHED_CLONES
#endif
