#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

void bind_sharing(nanobind::module_ &m);

} // namespace simsched
