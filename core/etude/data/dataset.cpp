#include "etude/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/detail/dataset_stages.hpp"

namespace etude {
namespace {

void check_at_least(std::int64_t least, std::string_view function, const char* name, std::int64_t value) {
  check(value >= least, ErrorKind::value, function, name, " = ", value, " - expected ", least,
        " or more - choose one.");
}

/// Wraps a synchronous function as an awaitable one.
template <class R, class F> auto awaitable(F function, std::string_view where) {
  check(static_cast<bool>(function), ErrorKind::value, where,
        "no function - expected a function of an element - pass one.");
  return [function = std::move(function)](Batch element) -> Task<R> { co_return function(std::move(element)); };
}

// Limits: an element passes through all stages on one stack, and each stage has an iterator.
constexpr std::int64_t most_stages_deep = 1000, most_stages = 100'000;

/// Returns the node. Throws Error(value) if its number of elements overflows.
DatasetNodePtr counted(DatasetNodePtr node) {
  static_cast<void>(node->cardinality());
  return node;
}

/// C++ generators as sources.
class GeneratedSource : public BatchSource {
 public:
  explicit GeneratedSource(Generator generator) : generator_(std::move(generator)) {}
  std::optional<Batch> consume() override { return generator_(); }

 private:
  Generator generator_;
};

}  // namespace

Task<std::int64_t> ElementIterator::skip(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::optional<Batch> element = co_await next();
    if (!element) co_return i;
  }
  co_return count;
}

Dataset Dataset::joined(std::span<const Dataset> inputs, DatasetNodePtr node) {
  Dataset dataset(std::move(node));
  for (const Dataset& input : inputs) {
    dataset.depth_ = std::max(dataset.depth_, input.depth_ + 1);
    dataset.stages_ += input.stages_;
  }
  check(dataset.depth_ <= most_stages_deep && dataset.stages_ <= most_stages, ErrorKind::value, "Dataset",
        dataset.stages_, " stages, ", dataset.depth_, " of them in a chain - expected at most ", most_stages, " and ",
        most_stages_deep, " - merge several maps into one, combine many datasets by interleave.");
  return dataset;
}
Dataset Dataset::after(DatasetNodePtr node) const { return joined(std::span(this, 1), std::move(node)); }

Dataset Dataset::from_tensor_slices(Batch arrays) {
  check_cardinality(arrays, "Dataset.from_tensor_slices");
  return Dataset(stages::slices(std::move(arrays)));
}

Dataset Dataset::from_array_likes(std::vector<ArrayLikePtr> x, std::vector<ArrayLikePtr> y,
                                  std::vector<ArrayLikePtr> sample_weight) {
  return Dataset(stages::array_likes(std::move(x), std::move(y), std::move(sample_weight)));
}

Dataset Dataset::from_generator(std::function<Generator()> make) {
  check(static_cast<bool>(make), ErrorKind::value, "Dataset.from_generator",
        "no function - expected a function that returns a generator - pass one.");
  return Dataset(stages::sources(
      [make = std::move(make)]() -> std::unique_ptr<BatchSource> { return std::make_unique<GeneratedSource>(make()); },
      false));
}

Dataset Dataset::from_sources(std::function<std::unique_ptr<BatchSource>()> make) {
  return Dataset(stages::sources(std::move(make), true));
}

Dataset Dataset::range(std::int64_t begin, std::int64_t end, std::int64_t step) {
  check(step != 0, ErrorKind::value, "Dataset.range", "step = 0 - expected a nonzero number - pass one.");
  return Dataset(stages::range(begin, end, step));
}

Dataset Dataset::zip(std::vector<Dataset> datasets) {
  check(!datasets.empty(), ErrorKind::value, "Dataset.zip", "no datasets - expected one or more - pass them.");
  std::vector<DatasetNodePtr> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return joined(datasets, stages::zip(std::move(nodes)));
}

Dataset Dataset::map(Map function) const {
  return after(stages::map(node_, awaitable<Batch>(std::move(function), "Dataset.map"), false));
}
Dataset Dataset::map(AsyncMap function) const { return after(stages::map(node_, std::move(function), true)); }

Dataset Dataset::filter(Predicate predicate) const {
  return after(stages::filter(node_, awaitable<bool>(std::move(predicate), "Dataset.filter"), false));
}
Dataset Dataset::filter(AsyncPredicate predicate) const {
  return after(stages::filter(node_, std::move(predicate), true));
}

Dataset Dataset::batch(std::int64_t size, bool drop_remainder) const {
  check_at_least(1, "Dataset.batch", "size", size);
  return after(stages::batch(node_, size, drop_remainder));
}

Dataset Dataset::unbatch() const { return after(stages::unbatch(node_)); }

Dataset Dataset::shuffle(std::int64_t buffer_size, const DatasetShuffleOptions& options) const {
  check_at_least(1, "Dataset.shuffle", "buffer_size", buffer_size);
  return after(stages::shuffle(node_, buffer_size, options));
}

Dataset Dataset::repeat(std::int64_t count) const {
  check_at_least(-1, "Dataset.repeat", "count", count);
  return after(counted(stages::repeat(node_, count)));
}

Dataset Dataset::take(std::int64_t count) const {
  check_at_least(-1, "Dataset.take", "count", count);
  return count < 0 ? *this : after(stages::take(node_, count));
}

Dataset Dataset::skip(std::int64_t count) const {
  check_at_least(0, "Dataset.skip", "count", count);
  return after(stages::skip(node_, count));
}

Dataset Dataset::cache() const { return after(stages::cache(node_)); }

Dataset Dataset::prefetch(std::int64_t count) const {
  check_at_least(1, "Dataset.prefetch", "count", count);
  return after(stages::prefetch(node_, count));
}

Dataset Dataset::concatenate(Dataset other) const {
  const std::array inputs{*this, other};
  return joined(inputs, counted(stages::concatenate(node_, other.node_)));
}

Dataset Dataset::interleave(Expand function, std::int64_t cycle_length, std::int64_t block_length) const {
  check_at_least(1, "Dataset.interleave", "cycle_length", cycle_length);
  check_at_least(1, "Dataset.interleave", "block_length", block_length);
  return after(stages::interleave(node_, awaitable<Dataset>(std::move(function), "Dataset.interleave"), cycle_length,
                                  block_length, false));
}
Dataset Dataset::interleave(AsyncExpand function, std::int64_t cycle_length, std::int64_t block_length) const {
  check_at_least(1, "Dataset.interleave", "cycle_length", cycle_length);
  check_at_least(1, "Dataset.interleave", "block_length", block_length);
  return after(stages::interleave(node_, std::move(function), cycle_length, block_length, true));
}

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  check(num_shards > 0 && index >= 0 && index < num_shards, ErrorKind::value, "Dataset.shard", "index ", index, " of ",
        num_shards, " shards - expected an index from 0 to num_shards - 1 - change the index.");
  return after(stages::shard(node_, num_shards, index));
}

Dataset Dataset::assert_cardinality(std::int64_t cardinality) const {
  check_at_least(unknown, "Dataset.assert_cardinality", "cardinality", cardinality);
  return after(stages::assert_cardinality(node_, cardinality));
}

DatasetIterator::DatasetIterator(Dataset dataset, std::uint64_t iteration)
    : dataset_(std::move(dataset)), iteration_(iteration), elements_(dataset_.node()->iterate(iteration)) {}

Task<std::optional<Batch>> DatasetIterator::next() {
  if (const std::int64_t wanted = std::exchange(to_skip_, 0)) {
    const std::int64_t skipped = co_await elements_->skip(wanted);
    check(skipped == wanted, ErrorKind::data, "DatasetIterator", "a state after ", wanted, " elements of ", skipped,
          " - expected the dataset of the state - restore it into the same dataset.");
  }
  std::optional<Batch> element = co_await elements_->next();
  if (element) ++consumed_;
  co_return element;
}

void DatasetIterator::restore(const DataState& state) {
  check_state(state, 2, "DatasetIterator");
  iteration_ = static_cast<std::uint64_t>(state[0]);
  elements_ = dataset_.node()->iterate(iteration_);
  consumed_ = to_skip_ = state[1];
}

}  // namespace etude
