#include "watched_set.hpp"

#include <algorithm>

namespace simsched {

namespace {

// Beyond so many changes, a copy costs less than looking at them.
constexpr std::size_t max_changes = 64;

} // namespace

void WatchedSet::notify(std::size_t changed) {
    // Backwards: one that copies its members leaves.
    for (std::size_t i = snapshots_.size(); i-- > 0;)
        snapshots_[i]->change(changed);
}

void Snapshot::change(std::size_t i) {
    if (changed_.size() == max_changes) {
        copy();
        return;
    }
    const auto place = std::lower_bound(changed_.begin(), changed_.end(), i);
    if (place != changed_.end() && *place == i)
        changed_.erase(place); // as it was
    else
        changed_.insert(place, i);
}

std::size_t Snapshot::next(std::size_t from) const {
    if (!of_) {
        const auto place = std::lower_bound(members_.begin(), members_.end(), from);
        return place == members_.end() ? OrderedSet::npos : *place;
    }
    auto member = of_->set_.next(from);
    auto changed = std::lower_bound(changed_.begin(), changed_.end(), from);
    for (; changed != changed_.end() && *changed <= member; ++changed) {
        if (*changed < member)
            return *changed; // lost
        member = of_->set_.next(member + 1);
    }
    return member;
}

std::size_t Snapshot::nth(std::size_t k) {
    if (k == 0)
        return next(0);
    if (of_ && changed_.empty())
        return k + 1 == size_ ? of_->set_.last() : of_->set_.nth(k);
    if (of_)
        copy();
    return members_[k];
}

void Snapshot::copy() {
    members_.reserve(size_);
    for (auto i = next(0); i != OrderedSet::npos; i = next(i + 1))
        members_.push_back(i);
    detach();
}

void Snapshot::detach() {
    if (of_)
        std::erase(of_->snapshots_, this);
    of_ = nullptr;
}

} // namespace simsched
