#define LOOPS avx2
#include "loops.inl"
