#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/base/task.hpp"
#include "etude/classes/field.hpp"
#include "etude/data/array_like.hpp"
#include "etude/data/batch.hpp"
#include "etude/data/data_state.hpp"
#include "etude/data/dataset_node.hpp"
#include "etude/data/generator_adapter.hpp"

namespace etude {

/// Options of Dataset::shuffle.
struct DatasetShuffleOptions {
  /// Together with the iteration it decides the order.
  std::uint64_t seed = random_seed();
  /// A new order each time that the elements are gone through.
  bool reshuffle_each_iteration = true;

  static constexpr auto fields() {
    return option_rows(
        option<&DatasetShuffleOptions::seed>("Seed of the order. Default: drawn from the seed that was set for all."),
        option<&DatasetShuffleOptions::reshuffle_each_iteration>("Whether each iteration has an order of its own."));
  }
};

/// Elements described, not made: they are made one at a time during iteration, so that there may be more than fit
/// into memory. A value: every function gives a new dataset and leaves this one as it is. An element is a Batch: before
/// `batch` one sample, whose tensors have no axis for rows, after it several. Functions given to it may run on other
/// threads (prefetch), and should depend on their element alone: an iterator that is restored passes over elements
/// without calling them. Source: tf.data.Dataset.
///
///     auto data = Dataset::from_tensor_slices({{images}, {labels}, {}})
///                     .shuffle(1000).map(augment).batch(32).prefetch(1);
///     model.fit(data, {.epochs = 5});
///
/// Throws Error(value) for more than 1,000 stages behind each other, or 100,000 of joined datasets in all.
class Dataset {
 public:
  /// What cardinality() gives for a dataset without end, and for one whose size is not known.
  static constexpr std::int64_t infinite = -1, unknown = -2;

  /// Makes an element of another.
  using Map = std::function<Batch(Batch)>;
  /// The same for a function that has to be waited for.
  using AsyncMap = std::function<Task<Batch>(Batch)>;
  /// Says whether an element stays.
  using Predicate = std::function<bool(const Batch&)>;
  /// The same for a function that has to be waited for.
  using AsyncPredicate = std::function<Task<bool>(Batch)>;
  /// Makes a dataset of an element.
  using Expand = std::function<Dataset(Batch)>;
  /// The same for a function that has to be waited for.
  using AsyncExpand = std::function<Task<Dataset>(Batch)>;

  /// Of the last of its stages.
  explicit Dataset(DatasetNodePtr node) : node_(std::move(node)) {}

  /// One element for each row of the arrays. Shares their bytes. Throws Error(data) as check_cardinality does.
  static Dataset from_tensor_slices(Batch arrays);
  /// The same of arrays that are read row by row, such as an NpyFile.
  static Dataset from_array_likes(std::vector<ArrayLikePtr> x, std::vector<ArrayLikePtr> y = {},
                                  std::vector<ArrayLikePtr> sample_weight = {});
  /// What a generator gives; `make` makes a fresh one for every iteration.
  static Dataset from_generator(std::function<Generator()> make);
  /// The same for sources of another language.
  static Dataset from_sources(std::function<std::unique_ptr<BatchSource>()> make);
  /// The numbers begin, begin + step, … before end, as int32 scalars in x.
  static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1);
  static Dataset range(std::int64_t end) { return range(0, end); }
  /// One element of one of each, until the first of them ends: what has inputs alone gives inputs, targets and sample
  /// weights in this order, otherwise all inputs go together, and so on.
  static Dataset zip(std::vector<Dataset> datasets);

  /// What `function` makes of each element.
  Dataset map(Map function) const;
  Dataset map(AsyncMap function) const;
  /// The elements for which `predicate` is true.
  Dataset filter(Predicate predicate) const;
  Dataset filter(AsyncPredicate predicate) const;
  /// `size` elements at a time, stacked: […] become [size, …]. The last has fewer, or is dropped.
  Dataset batch(std::int64_t size, bool drop_remainder = false) const;
  /// The rows of each element, one by one.
  Dataset unbatch() const;
  /// Elements drawn from a buffer of `buffer_size` that is refilled from this dataset: at least as large as it, the
  /// order is a uniform one.
  Dataset shuffle(std::int64_t buffer_size, const DatasetShuffleOptions& options = {}) const;
  /// `count` times one after the other; for ever if it is -1.
  Dataset repeat(std::int64_t count = -1) const;
  /// The first `count` elements; all if it is -1.
  Dataset take(std::int64_t count) const;
  /// What follows the first `count` elements.
  Dataset skip(std::int64_t count) const;
  /// Keeps all elements in memory once they were gone through to the end.
  Dataset cache() const;
  /// Makes up to `count` elements ahead: on a thread of its own, or where elements are waited for, while others wait.
  Dataset prefetch(std::int64_t count) const;
  /// The elements of this dataset, then those of the other one.
  Dataset concatenate(Dataset other) const;
  /// The datasets that `function` makes of the elements, `cycle_length` at a time: `block_length` elements of each in
  /// turn.
  Dataset interleave(Expand function, std::int64_t cycle_length = 2, std::int64_t block_length = 1) const;
  Dataset interleave(AsyncExpand function, std::int64_t cycle_length = 2, std::int64_t block_length = 1) const;
  /// The elements of the datasets that `function` makes, one dataset after the other.
  Dataset flat_map(Expand function) const { return interleave(std::move(function), 1); }
  /// Every `num_shards`-th element, from `index` on.
  Dataset shard(std::int64_t num_shards, std::int64_t index) const;
  /// The same, said to have so many elements where that is not known.
  Dataset assert_cardinality(std::int64_t cardinality) const;

  /// How many elements there are; or `infinite`, or `unknown`.
  std::int64_t cardinality() const { return node_->cardinality(); }
  /// The last of its stages.
  const DatasetNodePtr& node() const { return node_; }

  class Iterator;
  /// Goes through the elements at once; throws Error(state) where they must be waited for.
  Iterator begin() const;
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }

 private:
  /// The dataset that a node makes of `inputs`. Throws Error(value) where that are too many stages.
  static Dataset joined(std::span<const Dataset> inputs, DatasetNodePtr node);
  Dataset after(DatasetNodePtr node) const;

  DatasetNodePtr node_;
  /// How many stages there are, at most, from a source to here; and all of them.
  std::int64_t depth_ = 1, stages_ = 1;
};

/// Goes through a dataset, and can be put back to any place that it was at.
class DatasetIterator {
 public:
  /// `iteration`: which time it is that the elements are gone through; what is reshuffled depends on it.
  explicit DatasetIterator(Dataset dataset, std::uint64_t iteration = 0);

  /// The next element; nothing at the end.
  Task<std::optional<Batch>> next();
  /// The iteration, and how many elements were taken.
  DataState state() const { return {static_cast<std::int64_t>(iteration_), taken_}; }
  /// The next element will be the one that came next when `state` was asked for. Throws Error(value) for what is no
  /// state; `next` throws Error(data) if there are fewer elements now.
  void restore(const DataState& state);

 private:
  Dataset dataset_;
  std::uint64_t iteration_;
  ElementIteratorPtr elements_;
  std::int64_t taken_ = 0, to_skip_ = 0;
};

/// For range-based loops.
class Dataset::Iterator {
 public:
  explicit Iterator(const Dataset& dataset) : elements_(dataset) { ++*this; }
  const Batch& operator*() const { return *element_; }
  Iterator& operator++() {
    element_ = elements_.next().get();
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return !element_; }

 private:
  DatasetIterator elements_;
  std::optional<Batch> element_;
};
inline Dataset::Iterator Dataset::begin() const { return Iterator(*this); }

}  // namespace etude
