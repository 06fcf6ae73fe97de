#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

void bind_teams(nanobind::module_ &m);

} // namespace simsched
