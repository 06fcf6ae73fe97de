#include "caches.hpp"

namespace simsched {

void Caches::read(std::span<const std::int32_t> objects, std::int32_t place,
                  const std::vector<std::int32_t> &at_place,
                  std::vector<std::pair<std::int32_t, std::int32_t>> &found) {
    for (const auto object : objects) {
        if (plan_.producer[at(object)] < 0 && at_place[at(object)] == nowhere)
            continue;
        if (!near_[at(place)].has(object)) {
            const auto from = source(object, at_place[at(object)]);
            if (from != place)
                found.push_back({object, from});
        }
        keep(object, place);
    }
}

void Caches::write(std::span<const std::int32_t> objects, std::int32_t place) {
    for (const auto object : objects)
        keep(object, place);
}

void Caches::leave(std::int32_t object, std::int32_t place) {
    if (auto &near = near_[at(place)]; near.has(object)) {
        near.unlink(object);
        near.used_B -= size(object);
    }
}

std::int32_t Caches::source(std::int32_t object, std::int32_t place) const {
    const bool kept = plan_.cache_B == never_s || at(place) >= near_.size() || near_[at(place)].has(object);
    return kept ? place : plan_.below(place, object);
}

void Caches::keep(std::int32_t object, std::int32_t place) {
    auto &near = near_[at(place)];
    if (near.has(object)) {
        near.unlink(object);
        near.append(object);
    } else if (static_cast<double>(size(object)) <= plan_.cache_B) {
        near.append(object);
        near.used_B += size(object);
        while (static_cast<double>(near.used_B) > plan_.cache_B) {
            const auto oldest = near.first;
            near.unlink(oldest);
            near.used_B -= size(oldest);
        }
    }
}

void Caches::Near::unlink(std::int32_t object) {
    const auto entry = entries.at(object);
    (entry.before == nowhere ? first : entries.at(entry.before).after) = entry.after;
    (entry.after == nowhere ? last : entries.at(entry.after).before) = entry.before;
    entries.erase(object);
}

void Caches::Near::append(std::int32_t object) {
    if (last != nowhere)
        entries.at(last).after = object;
    else
        first = object;
    entries[object] = {last, nowhere};
    last = object;
}

} // namespace simsched
