#include "etude/execution/access.hpp"

#include <utility>
#include <vector>

namespace etude {

using instruction::Access;

Shape strides(const Shape& shape) {
  Shape result = shape;
  std::int64_t stride = 1;
  for (auto axis = static_cast<std::ptrdiff_t>(shape.rank()) - 1; axis >= 0; --axis) {
    result[axis] = stride;
    stride *= shape[axis];
  }
  return result;
}

Access strided_access(const Shape& extents, const Shape& strides) {
  // Drops axes of extent 1, and merges neighbouring axes of the same access.
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // innermost first
  for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(extents.rank()); ++i) {
    if (extents[-i] == 1) continue;
    if (!axes.empty() && strides[-i] == axes.back().second * axes.back().first)
      axes.back().first *= extents[-i];
    else
      axes.emplace_back(extents[-i], strides[-i]);
  }
  Access access;
  if (axes.empty() || (axes.size() == 1 && axes[0].second == 0)) {
    access.kind = Access::Kind::scalar;
  } else if (axes.size() > 1 || axes[0].second != 1) {
    access.kind = Access::Kind::strided;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      access.extents.append(axis->first);
      access.strides.append(axis->second);
    }
  }
  return access;
}

Access broadcast_access(const Shape& from, const Shape& to) {
  Shape steps = to;
  const Shape own = strides(from);
  for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(to.rank()); ++i)
    steps[-i] = i > static_cast<std::ptrdiff_t>(from.rank()) || from[-i] == 1 ? 0 : own[-i];
  return strided_access(to, steps);
}

}  // namespace etude
