#include "cores.hpp"

#include <algorithm>
#include <cstddef>

namespace simsched {

Cores::Cores(std::size_t cores, std::size_t per_tile)
    : per_tile_(per_tile), idle_(cores, true),
      idle_in_(cores / per_tile, static_cast<std::int32_t>(per_tile)) {
    for (std::size_t count = 0; count <= per_tile; ++count)
        tiles_with_.emplace_back(cores / per_tile, count == per_tile);
}

void Cores::count(std::size_t tile, int change) {
    tiles_with_[static_cast<std::size_t>(idle_in_[tile])].erase(tile);
    idle_in_[tile] += change;
    tiles_with_[static_cast<std::size_t>(idle_in_[tile])].insert(tile);
}

void Cores::take_from_tile(std::size_t tile, std::size_t size, std::vector<std::int32_t> &team) {
    for (std::size_t core = tile * per_tile_; core < (tile + 1) * per_tile_ && team.size() < size; ++core) {
        if (!idle_.contains(core))
            continue;
        take(static_cast<std::int32_t>(core));
        team.push_back(static_cast<std::int32_t>(core));
    }
}

void Cores::take(std::size_t width, std::vector<std::int32_t> &team) {
    const auto before = team.size(), size = before + width;
    // Narrow teams fill broken tiles, so that whole ones stay for wide teams.
    const bool narrow = width < per_tile_;
    for (std::size_t i = 0; i < per_tile_ && team.size() < size; ++i) {
        const auto &tiles = tiles_with_[narrow ? i + 1 : per_tile_ - i];
        std::vector<std::size_t> chosen;
        auto left = size - team.size();
        tiles.each([&](std::size_t tile) {
            chosen.push_back(tile);
            left -= std::min(left, static_cast<std::size_t>(idle_in_[tile]));
            return left > 0;
        });
        for (const auto tile : chosen)
            take_from_tile(tile, size, team);
    }
    std::sort(team.begin() + static_cast<std::ptrdiff_t>(before), team.end());
}

void Cores::take(std::int32_t core) {
    idle_.erase(static_cast<std::size_t>(core));
    count(static_cast<std::size_t>(core) / per_tile_, -1);
}

void Cores::give_back(std::int32_t core) {
    idle_.insert(static_cast<std::size_t>(core));
    count(static_cast<std::size_t>(core) / per_tile_, +1);
}

} // namespace simsched
