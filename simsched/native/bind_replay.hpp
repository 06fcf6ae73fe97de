#pragma once

#include <nanobind/nanobind.h>

namespace simsched {

// Adds replay_list, replay_corun and replay_policy to the module.
void bind_replay(nanobind::module_ &m);

} // namespace simsched
