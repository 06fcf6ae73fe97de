#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace simsched {

// Times by slot, the earliest of them at hand: a tree, in which the earlier of two times stands above both.
class Earliest {
  public:
    double operator[](std::size_t slot) const { return tree_[leaves_ + slot]; }
    double first() const { return tree_[1]; }
    // Calls visit(slot) for the slots of this time, ascending; there must be one.
    template <class Visit> void each_first(Visit &&visit) const { each_below(1, visit); }
    void set(std::size_t slot, double time) {
        while (slot >= leaves_)
            grow();
        auto node = leaves_ + slot;
        for (tree_[node] = time; node > 1 && (time = above(node)) != tree_[node / 2]; node /= 2)
            tree_[node / 2] = time;
    }

    static constexpr double never = std::numeric_limits<double>::infinity();

  private:
    double above(std::size_t node) const { return std::min(tree_[node], tree_[node ^ 1]); }
    template <class Visit> void each_below(std::size_t node, Visit &visit) const {
        while (node < leaves_) {
            node *= 2;
            const bool left = tree_[node] == first(), right = tree_[node + 1] == first();
            if (left & right) // hardly ever: which of both it is, none can foretell
                each_below(node, visit);
            node += right;
        }
        visit(node - leaves_);
    }
    void grow() {
        const std::vector<double> times(tree_.begin() + static_cast<std::ptrdiff_t>(leaves_), tree_.end());
        leaves_ *= 2;
        tree_.assign(2 * leaves_, never);
        std::copy(times.begin(), times.end(), tree_.begin() + static_cast<std::ptrdiff_t>(leaves_));
        for (auto node = 2 * leaves_ - 2; node > 1; node -= 2)
            tree_[node / 2] = above(node);
    }

    std::size_t leaves_ = 1; // the last of the tree
    std::vector<double> tree_ = std::vector<double>(2, never);
};

} // namespace simsched
