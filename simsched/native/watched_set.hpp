#pragma once

#include "ordered_set.hpp"

#include <cstddef>
#include <vector>

namespace simsched {

class Snapshot;

// An ordered set whose snapshots learn of every change, so that taking one copies nothing.
class WatchedSet {
  public:
    explicit WatchedSet(std::size_t n, bool full = false) : set_(n, full) {}
    WatchedSet(const WatchedSet &) = delete;

    const OrderedSet &set() const { return set_; }
    void insert(std::size_t i) {
        notify(i);
        set_.insert(i);
    }
    void erase(std::size_t i) {
        notify(i);
        set_.erase(i);
    }

  private:
    friend class Snapshot;
    void notify(std::size_t changed);

    OrderedSet set_;
    std::vector<Snapshot *> snapshots_; // that still look at the set
};

// The members that a set had when this was made: those of the set, but for what changed since. Must not
// outlive the set.
class Snapshot {
  public:
    explicit Snapshot(WatchedSet &of) : of_(&of), size_(of.set_.size()) { of.snapshots_.push_back(this); }
    Snapshot(const Snapshot &) = delete;
    ~Snapshot() { detach(); }

    std::size_t size() const { return size_; }
    bool contains(std::size_t i) const { return next(i) == i; }
    // The least member that is not below `from`; OrderedSet::npos where there is none.
    std::size_t next(std::size_t from) const;
    // The member with `k` lesser ones, of at least k + 1.
    std::size_t nth(std::size_t k);
    // Looks at the set no more; for one that is never asked again.
    void detach();

  private:
    friend class WatchedSet;
    void change(std::size_t i);
    void copy();

    WatchedSet *of_; // none once the members are copied
    std::size_t size_;
    std::vector<std::size_t>
        changed_; // ascending: members that the set has lost, and others that it has gained
    std::vector<std::size_t> members_; // once copied
};

} // namespace simsched
