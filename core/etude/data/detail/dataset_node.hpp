#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"

namespace etude {

/// Iterates over the elements of a dataset. The number of consumed elements is its whole state: a new iterator that
/// skips as many continues with the same element, bit for bit.
class ElementIterator {
 public:
  virtual ~ElementIterator() = default;
  /// The next element; empty at the end, and after it.
  virtual Task<std::optional<Batch>> next() = 0;
  /// Skips `count` elements, without making them if possible. Returns the number of skipped elements.
  virtual Task<std::int64_t> skip(std::int64_t count);
};
using ElementIteratorPtr = std::unique_ptr<ElementIterator>;

/// A node of a dataset: a source, or an operation on the elements of other nodes. It never changes, and outlives its
/// iterators.
class DatasetNode {
 public:
  virtual ~DatasetNode() = default;
  /// The number of elements; or Dataset::infinite, or Dataset::unknown.
  virtual std::int64_t cardinality() const = 0;
  /// Iterates from the first element. Shuffles depend on `iteration` and their seed.
  virtual ElementIteratorPtr iterate(std::uint64_t iteration) const = 0;
  /// Whether elements may have to be awaited in an event loop, where a thread must not block.
  virtual bool asynchronous() const = 0;
};
using DatasetNodePtr = std::shared_ptr<const DatasetNode>;

/// The iteration of input `number` of a node that reads several inputs one after the other: another one for each,
/// because they may be the same dataset. Source: the function mix64 of SplittableRandom, Steele et al., 2014.
inline std::uint64_t iteration_of_input(std::uint64_t iteration, std::int64_t number) {
  std::uint64_t bits = iteration + (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

}  // namespace etude
