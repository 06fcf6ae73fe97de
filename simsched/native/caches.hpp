#pragma once

#include "data.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

// What is near each place where objects are read from afar: the twin of simsched/replay/data_state.py.

namespace simsched {

class Caches {
  public:
    explicit Caches(const DataPlan &plan) : plan_(plan), near_(plan.n_core_places()) {}
    // Appends the objects that are not near a place, each with whence it is read; from now on they are near.
    void read(std::span<const std::int32_t> objects, std::int32_t place,
              const std::vector<std::int32_t> &at_place,
              std::vector<std::pair<std::int32_t, std::int32_t>> &found);
    bool has(std::int32_t object, std::int32_t place) const { return near_[at(place)].has(object); }
    void write(std::span<const std::int32_t> objects, std::int32_t place);
    // Notes that an object is not near a place any more.
    void leave(std::int32_t object, std::int32_t place);

  private:
    // The objects near a place, in a list from the one used longest ago to the one used last.
    struct Near {
        struct Entry {
            std::int32_t before, after;
        };
        std::unordered_map<std::int32_t, Entry> entries;
        std::int32_t first = nowhere, last = nowhere;
        std::int64_t used_B = 0;

        bool has(std::int32_t object) const { return entries.contains(object); }
        void unlink(std::int32_t object);
        void append(std::int32_t object);
    };

    std::int32_t source(std::int32_t object, std::int32_t place) const;
    void keep(std::int32_t object, std::int32_t place);
    std::int64_t size(std::int32_t object) const {
        return static_cast<std::int64_t>(plan_.size_B[at(object)]);
    }

    const DataPlan &plan_;
    std::vector<Near> near_;
};

} // namespace simsched
