#include "caches.hpp"

namespace simsched {

void Caches::read(std::span<const std::int32_t> objects, std::int32_t place,
                  const std::vector<std::int32_t> &at_place,
                  std::vector<std::pair<std::int32_t, std::int32_t>> &found) {
    for (const auto object : objects) {
        if (plan_.producer[at(object)] < 0 && at_place[at(object)] == nowhere)
            continue;
        const auto number = copy(object, place);
        if (!is_near(number)) {
            const auto from = source(object, at_place[at(object)]);
            if (from != place)
                found.push_back({object, from});
        }
        keep(object, place, number);
    }
}

std::vector<std::pair<std::int32_t, std::int32_t>>
Caches::far(std::span<const std::int32_t> objects, std::int32_t place,
            const std::vector<std::int32_t> &at_place) const {
    std::vector<std::pair<std::int32_t, std::int32_t>> found;
    if (plan_.cache_B < never_s) {
        Caches(*this).read(objects, place, at_place, found);
        return found;
    }
    for (const auto object : objects)
        if (const auto from = at_place[at(object)]; from != nowhere && from != place && !has(object, place))
            found.push_back({object, from});
    return found;
}

void Caches::write(std::span<const std::int32_t> objects, std::int32_t place) {
    for (const auto object : objects)
        keep(object, place, copy(object, place));
}

void Caches::leave(std::int32_t object, std::int32_t place) {
    if (const auto number = copy(object, place); is_near(number))
        leave(number);
}

void Caches::leave(std::uint32_t number) {
    unlink(number);
    near_[at(copies_[number].place)].used_B -= plan_.whole_B(uses_[number].object);
}

std::int32_t Caches::source(std::int32_t object, std::int32_t place) const {
    const bool kept = plan_.cache_B == never_s || at(place) >= near_.size() || has(object, place);
    return kept ? place : plan_.below(place, object);
}

void Caches::keep(std::int32_t object, std::int32_t place, std::uint32_t number) {
    if (is_near(number)) {
        unlink(number);
        append(number);
    } else if (static_cast<double>(plan_.whole_B(object)) <= plan_.cache_B) {
        if (number == none) {
            number = static_cast<std::uint32_t>(copies_.size());
            copies_.push_back({place, copies_of_[at(object)]});
            uses_.push_back({object});
            copies_of_[at(object)] = number;
        }
        auto &near = near_[at(place)];
        append(number);
        near.used_B += plan_.whole_B(object);
        while (static_cast<double>(near.used_B) > plan_.cache_B)
            leave(near.first);
    }
}

std::uint32_t Caches::copy(std::int32_t object, std::int32_t place) const {
    auto number = copies_of_[at(object)];
    while (number != none && copies_[number].place != place)
        number = copies_[number].other;
    return number;
}

void Caches::append(std::uint32_t number) {
    auto &use = uses_[number];
    auto &near = near_[at(copies_[number].place)];
    use.before = near.last;
    use.after = none;
    use.near = true;
    (near.last == none ? near.first : uses_[near.last].after) = number;
    near.last = number;
}

void Caches::unlink(std::uint32_t number) {
    auto &use = uses_[number];
    auto &near = near_[at(copies_[number].place)];
    (use.before == none ? near.first : uses_[use.before].after) = use.after;
    (use.after == none ? near.last : uses_[use.after].before) = use.before;
    use.near = false;
}

} // namespace simsched
