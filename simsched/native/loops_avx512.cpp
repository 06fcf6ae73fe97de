#define LOOPS avx512
#include "loops.inl"
