#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

// Adds Platform, the levels of its tasks and the planners to the module.
void bind_planners(nanobind::module_ &m);

} // namespace simsched
