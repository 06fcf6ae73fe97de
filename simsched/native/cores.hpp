#pragma once

#include "ordered_set.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simsched {

// Which cores are idle in one of their ways, and which of them a team of some width takes: the twin of
// simsched/policy/placement.py, take_idle. Tiles are kept by their number of idle cores, so that no call
// looks at all cores.
class Cores {
  public:
    Cores(std::size_t cores, std::size_t per_tile);
    std::size_t idle() const { return idle_.size(); }
    // Adds `width` idle cores, at most idle(), to `team`, ascending.
    void take(std::size_t width, std::vector<std::int32_t> &team);
    // Takes this core, which must be idle.
    void take(std::int32_t core);
    void give_back(std::int32_t core);

  private:
    void count(std::size_t tile, int change);
    void take_from_tile(std::size_t tile, std::size_t size, std::vector<std::int32_t> &team);

    std::size_t per_tile_;
    OrderedSet idle_;
    std::vector<std::int32_t> idle_in_;  // idle cores of each tile
    std::vector<OrderedSet> tiles_with_; // tiles by their number of idle cores
};

} // namespace simsched
