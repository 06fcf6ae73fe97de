#define LOOPS base
#include "loops.inl"
