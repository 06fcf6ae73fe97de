#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

// Adds PolicyView, what a policy written in Python sees, and Numbers, the sequences of numbers in it.
void bind_policy(nanobind::module_ &m);

} // namespace simsched
