#pragma once

#include <functional>
#include <queue>
#include <vector>

namespace simsched {

// A queue whose least entry is first.
template <class Key> using MinHeap = std::priority_queue<Key, std::vector<Key>, std::greater<Key>>;

} // namespace simsched
