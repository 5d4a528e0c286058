#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"

namespace etude {

/// Elements of a dataset, one after the other. The number of those taken says all about where it stands: a fresh
/// iterator that passes over as many goes on with the same element, bit for bit.
class ElementIterator {
 public:
  virtual ~ElementIterator() = default;
  /// The next element; nothing at the end, and ever after.
  virtual Task<std::optional<Batch>> next() = 0;
  /// Passes over `count` elements, without making them where that can be. Gives how many there were.
  virtual Task<std::int64_t> skip(std::int64_t count);
};
using ElementIteratorPtr = std::unique_ptr<ElementIterator>;

/// What a dataset is: a source, or what is done to the elements of another one. Never changes; outlives its iterators.
class DatasetNode {
 public:
  virtual ~DatasetNode() = default;
  /// Elements; or Dataset::infinite, or Dataset::unknown.
  virtual std::int64_t cardinality() const = 0;
  /// Its elements from the first one on. Shuffles depend on `iteration` and their seed.
  virtual ElementIteratorPtr iterate(std::uint64_t iteration) const = 0;
  /// Whether elements may have to be waited for in an event loop, where a thread must not wait for them.
  virtual bool asynchronous() const = 0;
};
using DatasetNodePtr = std::shared_ptr<const DatasetNode>;

}  // namespace etude
