#pragma once

#include "data.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// What is near each place where objects are read from afar: the twin of simsched/replay/data_state.py.

namespace simsched {

class Caches {
  public:
    explicit Caches(const DataPlan &plan)
        : plan_(plan), near_(plan.n_core_places()), copies_of_(plan.n_objects(), none) {
        copies_.reserve(plan.inputs.indices.size() + plan.n_objects());
        uses_.reserve(copies_.capacity());
    }
    // Appends the objects that are not near a place, each with whence it is read; from now on they are near.
    void read(std::span<const std::int32_t> objects, std::int32_t place,
              const std::vector<std::int32_t> &at_place,
              std::vector<std::pair<std::int32_t, std::int32_t>> &found);
    // Returns the same as read would append, and leaves all as it is.
    std::vector<std::pair<std::int32_t, std::int32_t>> far(std::span<const std::int32_t> objects,
                                                           std::int32_t place,
                                                           const std::vector<std::int32_t> &at_place) const;
    bool has(std::int32_t object, std::int32_t place) const { return is_near(copy(object, place)); }
    void write(std::span<const std::int32_t> objects, std::int32_t place);
    // Notes that an object is not near a place any more.
    void leave(std::int32_t object, std::int32_t place);

  private:
    static constexpr std::uint32_t none = UINT32_MAX;

    // What is near a place, in a list from what was used longest ago to what was used last.
    struct Near {
        std::uint32_t first = none, last = none;
        std::int64_t used_B = 0;
    };
    // An object's copy at a place that it is near, or was; small, as one that all read has one at each place.
    struct Copy {
        std::int32_t place;
        std::uint32_t other; // the next copy of the object
    };
    // Where a copy stands in the list of its place.
    struct Use {
        std::int32_t object;
        std::uint32_t before = none, after = none;
        bool near = false;
    };

    bool is_near(std::uint32_t number) const { return number != none && uses_[number].near; }
    std::uint32_t copy(std::int32_t object, std::int32_t place) const;
    std::int32_t source(std::int32_t object, std::int32_t place) const;
    void keep(std::int32_t object, std::int32_t place, std::uint32_t number);
    void append(std::uint32_t number);
    void unlink(std::uint32_t number);
    void leave(std::uint32_t number);

    const DataPlan &plan_;
    std::vector<Near> near_;
    std::vector<Copy> copies_;
    std::vector<Use> uses_;                // of each copy
    std::vector<std::uint32_t> copies_of_; // the first copy of each object
};

} // namespace simsched
