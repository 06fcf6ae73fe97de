#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

// Adds to a module what walks through schedules.
void bind_causes(nanobind::module_ &m);

} // namespace simsched
