#include "data.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

void check_within(std::span<const std::int32_t> numbers, std::size_t n, const char *of, std::int32_t least) {
    const auto most = static_cast<std::int32_t>(std::min<std::size_t>(n, INT32_MAX));
    // As wide as the numbers and without a way out, so that the loop goes over several at once.
    std::int32_t outside = 0;
    for (const auto number : numbers)
        outside |= (number < least) | (number >= most);
    if (outside)
        throw std::invalid_argument(of);
}

void check_numbers(std::span<const double> numbers) {
    for (const auto number : numbers)
        if (!(number >= 0))
            throw std::invalid_argument("sizes and seconds of data are not below zero");
}

} // namespace

std::int32_t DataPlan::below(std::int32_t place, std::int32_t object) const {
    const auto host = static_cast<std::int32_t>(n_places()) - 1, domain = domain_of[at(place)];
    const auto memories = domain < 0 ? std::span<const std::int32_t>{} : row(memory_of, at(domain));
    if (memories.empty() || std::find(memories.begin(), memories.end(), place) != memories.end())
        return host;
    return memories[at(object) % memories.size()];
}

std::size_t DataPlan::n_core_places() const {
    std::int32_t most = -1;
    for (const auto place : place_of)
        most = std::max(most, place);
    return static_cast<std::size_t>(most + 1);
}

void DataPlan::check(std::size_t n_tasks) const {
    const auto places = n_places(), objects = n_objects();
    if (places == 0 || inputs.n() != n_tasks || written.n() != n_tasks || readers.size() != objects ||
        size_B.size() != objects || home.size() != objects || goes_to.size() != objects ||
        latency_s.size() != places * places || s_per_B.size() != places * places ||
        place_B.size() != places || (!planned.empty() && planned.size() != n_tasks) ||
        (shares_links() && ways.n() != places * places))
        throw std::invalid_argument("the columns of data have different lengths");
    for (const auto *rows : {&inputs, &written, &ways, &memory_of})
        check_rows(*rows, "data");
    check_within(inputs.indices, objects, "an object does not exist", 0);
    check_within(written.indices, objects, "an object does not exist", 0);
    check_within(producer, n_tasks, "an object's producer does not exist", nowhere);
    for (const auto column : {home, goes_to})
        check_within(column, places, "a place does not exist", nowhere);
    for (const auto column : {place_of, planned, memory_of.indices})
        check_within(column, places, "a place does not exist", 0);
    check_within({&through, 1}, places, "a place does not exist", nowhere);
    check_within(domain_of, memory_of.n(), "a domain does not exist", nowhere);
    check_within(ways.indices, capacity_Bps.size(), "a link does not exist", 0);
    for (const auto column : {size_B, latency_s, s_per_B, place_B, capacity_Bps})
        check_numbers(column);
}

} // namespace simsched
