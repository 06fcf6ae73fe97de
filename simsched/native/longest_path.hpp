#pragma once

#include "csr.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace simsched {

// result[i] = weights[i] + max(result of i's neighbours, 0 if none). In `order`, neighbours stand before i;
// without one, i goes from n - 1 to 0.
void longest_path(const Csr &graph, std::optional<std::span<const std::int32_t>> order,
                  std::span<const double> weights, std::span<double> result);

} // namespace simsched
