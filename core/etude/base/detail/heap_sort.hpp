#pragma once

#include <algorithm>
#include <functional>

namespace etude {

/// Sorts as std::ranges::sort does, by code that has a third of its size: a page downloads it once for each type. For
/// lists that are short, or are sorted seldom.
template <class Range, class Less = std::ranges::less, class Projection = std::identity>
void heap_sort(Range& range, Less less = {}, Projection projection = {}) {
  std::ranges::make_heap(range, less, projection);
  std::ranges::sort_heap(range, less, projection);
}

}  // namespace etude
