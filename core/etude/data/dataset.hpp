#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/base/task.hpp"
#include "etude/classes/field.hpp"
#include "etude/data/array_like.hpp"
#include "etude/data/batch.hpp"
#include "etude/data/data_state.hpp"
#include "etude/data/detail/dataset_node.hpp"
#include "etude/data/detail/generator_adapter.hpp"

namespace etude {

/// Options of Dataset::shuffle.
struct DatasetShuffleOptions {
  /// The order depends on it and on the iteration.
  std::uint64_t seed = random_seed();
  /// Whether each iteration has a new order.
  bool reshuffle_each_iteration = true;

  template <class O = DatasetShuffleOptions> static constexpr auto fields() {
    return option_rows(option<&O::seed>("Seed of the order. Default: derived from the global seed."),
                       option<&O::reshuffle_each_iteration>("Whether each iteration has an order of its own."));
  }
};

/// Options of Dataset::with_options. Source: tf.data.Options.
struct DatasetOptions {
  /// How several processes divide the dataset, by the names of tf.data's AutoShardPolicy. "data": every process reads
  /// all elements, and computes its rows of each batch. "file": each process reads its part of the files. "off": each
  /// process reads the dataset as it is, which should be its own part. "auto": "file" if the dataset has a file for
  /// each process, else "data". One process ignores it.
  std::string auto_shard_policy = "auto";

  template <class O = DatasetOptions> static constexpr auto fields() {
    return option_rows(option<&O::auto_shard_policy>(
        "How several processes divide the dataset: \"auto\", \"data\", \"file\" or \"off\"."));
  }
};

/// A lazy sequence of elements. Iteration makes them one at a time, so they need not fit into memory. A dataset is a
/// value: every function returns a new dataset and leaves this one unchanged. An element is a Batch: before `batch` one
/// sample, whose tensors have no axis for rows; after it several samples. Its functions may run on other threads
/// (prefetch), and should depend on their element alone: a restored iterator skips elements without calling them.
/// Source: tf.data.Dataset.
///
///     auto data = Dataset::from_tensor_slices({{images}, {labels}, {}})
///                     .shuffle(1000).map(augment).batch(32).prefetch(1);
///     model.fit(data, {.epochs = 5});
///
/// Throws Error(value) for more than 1,000 consecutive stages, or 100,000 stages of combined datasets in all.
class Dataset {
 public:
  /// The cardinality() of an endless dataset, and of one with unknown size.
  static constexpr std::int64_t infinite = -1, unknown = -2;

  /// Returns a new element for an element.
  using Map = std::function<Batch(Batch)>;
  /// The same for a function that must be awaited.
  using AsyncMap = std::function<Task<Batch>(Batch)>;
  /// Returns whether an element is kept.
  using Predicate = std::function<bool(const Batch&)>;
  /// The same for a function that must be awaited.
  using AsyncPredicate = std::function<Task<bool>(Batch)>;
  /// Creates a dataset from an element.
  using Expand = std::function<Dataset(Batch)>;
  /// The same for a function that must be awaited.
  using AsyncExpand = std::function<Task<Dataset>(Batch)>;

  /// The dataset of this last stage.
  explicit Dataset(DatasetNodePtr node) : node_(std::move(node)) {}

  /// One element for each row of the arrays. Shares their memory. Throws Error(data) as check_cardinality does.
  static Dataset from_tensor_slices(Batch arrays);
  /// The same for arrays that are read row by row, such as an NpyFile. Elements have the masks of ragged rows.
  static Dataset from_array_likes(std::vector<ArrayLikePtr> x, std::vector<ArrayLikePtr> y = {},
                                  std::vector<ArrayLikePtr> sample_weight = {});
  /// The batches of a generator. `make` makes a new one for every iteration.
  static Dataset from_generator(std::function<Generator()> make);
  /// The same for sources of another language.
  static Dataset from_sources(std::function<std::unique_ptr<BatchSource>()> make);
  /// The elements of files, one file after the other. `read` makes the dataset of one of them. Several processes may
  /// divide the files (DatasetOptions). Source: tf.data.Dataset.from_tensor_slices(paths).flat_map(read).
  static Dataset from_files(std::vector<std::string> paths, std::function<Dataset(const std::string& path)> read);
  /// The numbers begin, begin + step, … before end, as int32 scalars in x.
  static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1);
  static Dataset range(std::int64_t end) { return range(0, end); }
  /// Combines one element of each dataset, until the first dataset ends. If all have only inputs, they become inputs,
  /// targets and sample weights in this order. Otherwise all inputs are collected, and so are targets and weights.
  static Dataset zip(std::vector<Dataset> datasets);

  /// Each element, converted by `function`.
  Dataset map(Map function) const;
  Dataset map(AsyncMap function) const;
  /// The elements for which `predicate` is true.
  Dataset filter(Predicate predicate) const;
  Dataset filter(AsyncPredicate predicate) const;
  /// Stacks `size` elements at a time: […] become [size, …]. The last batch has fewer, or is dropped.
  Dataset batch(std::int64_t size, bool drop_remainder = false) const;
  /// The rows of each element, one by one.
  Dataset unbatch() const;
  /// Draws elements from a buffer of `buffer_size`, which is refilled from this dataset. If the buffer holds the whole
  /// dataset, the order is uniform.
  Dataset shuffle(std::int64_t buffer_size, const DatasetShuffleOptions& options = {}) const;
  /// Repeats the dataset `count` times; without end if it is -1.
  Dataset repeat(std::int64_t count = -1) const;
  /// The first `count` elements; all if it is -1.
  Dataset take(std::int64_t count) const;
  /// All but the first `count` elements.
  Dataset skip(std::int64_t count) const;
  /// Keeps all elements in memory after the first complete iteration.
  Dataset cache() const;
  /// Makes up to `count` elements in advance: on a separate thread, or, for awaited elements, concurrently.
  Dataset prefetch(std::int64_t count) const;
  /// The elements of this dataset, then those of the other one.
  Dataset concatenate(Dataset other) const;
  /// The elements of the datasets that `function` makes from the elements, `cycle_length` datasets at a time:
  /// `block_length` consecutive elements of each in turn.
  Dataset interleave(Expand function, std::int64_t cycle_length = 2, std::int64_t block_length = 1) const;
  Dataset interleave(AsyncExpand function, std::int64_t cycle_length = 2, std::int64_t block_length = 1) const;
  /// The elements of the datasets that `function` makes, one dataset after the other.
  Dataset flat_map(Expand function) const { return interleave(std::move(function), 1); }
  /// Every `num_shards`-th element, starting at `index`.
  Dataset shard(std::int64_t num_shards, std::int64_t index) const;
  /// The same dataset with this cardinality, if its own is unknown.
  Dataset assert_cardinality(std::int64_t cardinality) const;

  /// The same dataset with these options. Later stages keep them, except those of several datasets. Throws Error(value)
  /// for an unknown policy.
  Dataset with_options(const DatasetOptions& options) const;
  /// Its options.
  DatasetOptions options() const;
  /// The number of files of which it is made, if it can be divided by them; else 0. They are those of from_files, or of
  /// a folder of images, with all stages after them.
  std::int64_t file_count() const;
  /// The dataset made of every `num_shards`-th file, starting at file `index`, by the same stages. Throws Error(value)
  /// for more shards than files.
  Dataset shard_files(std::int64_t num_shards, std::int64_t index) const;
  /// The same dataset, each element of which is made of one file.
  Dataset of_files() const;

  /// The number of elements; or `infinite`, or `unknown`.
  std::int64_t cardinality() const { return node_->cardinality(); }
  /// The last of its stages.
  const DatasetNodePtr& node() const { return node_; }

  class Iterator;
  /// Iterates synchronously. Throws Error(state) if elements must be awaited.
  Iterator begin() const;
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }

 private:
  /// The dataset of a node over `inputs`. Throws Error(value) for too many stages.
  static Dataset joined(std::span<const Dataset> inputs, DatasetNodePtr node);
  /// How several processes divide it.
  struct Division;
  /// Adds a stage to a part of the files, as it was added to all of them.
  using Stage = std::function<Dataset(const Dataset& part)>;
  template <class... Parameters, class... Arguments>
  static Stage stage(Dataset (Dataset::*add)(Parameters...) const, const Arguments&... arguments);
  Dataset after(DatasetNodePtr node, const Stage& stage) const;

  DatasetNodePtr node_;
  /// Null if the options are the defaults, and there are no files.
  std::shared_ptr<const Division> division_;
  /// The longest chain of stages from a source to this one; and the number of all stages.
  std::int64_t depth_ = 1, stages_ = 1;
};

/// Iterates over a dataset, and can return to any earlier position.
class DatasetIterator {
 public:
  /// `iteration`: the number of this iteration, on which reshuffling depends.
  explicit DatasetIterator(Dataset dataset, std::uint64_t iteration = 0);

  /// The next element; empty at the end.
  Task<std::optional<Batch>> next();
  /// The iteration, and the number of consumed elements.
  DataState state() const { return {static_cast<std::int64_t>(iteration_), consumed_}; }
  /// Returns to `state`: the next element is the one that followed when the state was saved. Throws Error(value) for an
  /// invalid state; `next` throws Error(data) if there are fewer elements now.
  void restore(const DataState& state);

 private:
  Dataset dataset_;
  std::uint64_t iteration_;
  ElementIteratorPtr elements_;
  std::int64_t consumed_ = 0, to_skip_ = 0;
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
