#include "etude/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "etude/base/detail/device_libraries.hpp"
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

struct Dataset::Division {
  std::string policy = "auto";
  std::int64_t files = 0;
  /// The dataset of every `num_shards`-th file, starting at file `index`.
  std::function<Dataset(std::int64_t num_shards, std::int64_t index)> part;

  std::shared_ptr<const Division> after(const Stage& stage) const {
    auto result = std::make_shared<Division>(*this);
    if (part)
      result->part = [inner = part, stage](std::int64_t num_shards, std::int64_t index) {
        return stage(inner(num_shards, index));
      };
    return result;
  }
};

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

Dataset Dataset::after(DatasetNodePtr node, const Stage& stage) const {
  Dataset dataset = joined(std::span(this, 1), std::move(node));
  if constexpr (has_device_libraries)
    if (division_) dataset.division_ = division_->after(stage);
  return dataset;
}

template <class... Parameters, class... Arguments>
Dataset::Stage Dataset::stage(Dataset (Dataset::*add)(Parameters...) const, const Arguments&... arguments) {
  if constexpr (has_device_libraries)
    return [add, arguments...](const Dataset& part) { return (part.*add)(arguments...); };
  return {};
}

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
  const Stage again = stage<Map>(&Dataset::map, function);
  return after(stages::map(node_, awaitable<Batch>(std::move(function), "Dataset.map"), false), again);
}
Dataset Dataset::map(AsyncMap function) const {
  const Stage again = stage<AsyncMap>(&Dataset::map, function);
  return after(stages::map(node_, std::move(function), true), again);
}

Dataset Dataset::filter(Predicate predicate) const {
  const Stage again = stage<Predicate>(&Dataset::filter, predicate);
  return after(stages::filter(node_, awaitable<bool>(std::move(predicate), "Dataset.filter"), false), again);
}
Dataset Dataset::filter(AsyncPredicate predicate) const {
  const Stage again = stage<AsyncPredicate>(&Dataset::filter, predicate);
  return after(stages::filter(node_, std::move(predicate), true), again);
}

Dataset Dataset::batch(std::int64_t size, bool drop_remainder) const {
  check_at_least(1, "Dataset.batch", "size", size);
  return after(stages::batch(node_, size, drop_remainder), stage(&Dataset::batch, size, drop_remainder));
}

Dataset Dataset::unbatch() const { return after(stages::unbatch(node_), stage(&Dataset::unbatch)); }

Dataset Dataset::shuffle(std::int64_t buffer_size, const DatasetShuffleOptions& options) const {
  check_at_least(1, "Dataset.shuffle", "buffer_size", buffer_size);
  return after(stages::shuffle(node_, buffer_size, options.seed, options.reshuffle_each_iteration),
               stage(&Dataset::shuffle, buffer_size, options));
}

Dataset Dataset::repeat(std::int64_t count) const {
  check_at_least(-1, "Dataset.repeat", "count", count);
  return after(counted(stages::repeat(node_, count)), stage(&Dataset::repeat, count));
}

Dataset Dataset::take(std::int64_t count) const {
  check_at_least(-1, "Dataset.take", "count", count);
  return count < 0 ? *this : after(stages::take(node_, count), stage(&Dataset::take, count));
}

Dataset Dataset::skip(std::int64_t count) const {
  check_at_least(0, "Dataset.skip", "count", count);
  return after(stages::skip(node_, count), stage(&Dataset::skip, count));
}

Dataset Dataset::cache() const { return after(stages::cache(node_), stage(&Dataset::cache)); }

Dataset Dataset::prefetch(std::int64_t count) const {
  check_at_least(1, "Dataset.prefetch", "count", count);
  return after(stages::prefetch(node_, count), stage(&Dataset::prefetch, count));
}

Dataset Dataset::concatenate(Dataset other) const {
  const std::array inputs{*this, other};
  return joined(inputs, counted(stages::concatenate(node_, other.node_)));
}

Dataset Dataset::interleave(Expand function, std::int64_t cycle_length, std::int64_t block_length) const {
  check_at_least(1, "Dataset.interleave", "cycle_length", cycle_length);
  check_at_least(1, "Dataset.interleave", "block_length", block_length);
  const Stage again =
      stage<Expand, std::int64_t, std::int64_t>(&Dataset::interleave, function, cycle_length, block_length);
  return after(stages::interleave(node_, awaitable<Dataset>(std::move(function), "Dataset.interleave"), cycle_length,
                                  block_length, false),
               again);
}
Dataset Dataset::interleave(AsyncExpand function, std::int64_t cycle_length, std::int64_t block_length) const {
  check_at_least(1, "Dataset.interleave", "cycle_length", cycle_length);
  check_at_least(1, "Dataset.interleave", "block_length", block_length);
  const Stage again =
      stage<AsyncExpand, std::int64_t, std::int64_t>(&Dataset::interleave, function, cycle_length, block_length);
  return after(stages::interleave(node_, std::move(function), cycle_length, block_length, true), again);
}

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  check(num_shards > 0 && index >= 0 && index < num_shards, ErrorKind::value, "Dataset.shard", "index ", index, " of ",
        num_shards, " shards - expected an index from 0 to num_shards - 1 - change the index.");
  return after(stages::shard(node_, num_shards, index), stage(&Dataset::shard, num_shards, index));
}

Dataset Dataset::assert_cardinality(std::int64_t cardinality) const {
  check_at_least(unknown, "Dataset.assert_cardinality", "cardinality", cardinality);
  // A part of the files has another number of elements.
  return after(stages::assert_cardinality(node_, cardinality), [](const Dataset& part) { return part; });
}

Dataset Dataset::from_files(std::vector<std::string> paths, std::function<Dataset(const std::string&)> read) {
  check(static_cast<bool>(read) && !paths.empty(), ErrorKind::value, "Dataset.from_files", paths.size(), " paths and ",
        read ? "a" : "no", " function - expected files, and a function that reads one of them - pass both.");
  const Dataset numbers = range(std::ssize(paths)).of_files();
  return numbers.flat_map([paths = std::move(paths), read = std::move(read)](const Batch& number) {
    return read(paths[static_cast<std::size_t>(number.x.front().item())]);
  });
}

Dataset Dataset::with_options(const DatasetOptions& options) const {
  const std::string& policy = options.auto_shard_policy;
  check(policy == "auto" || policy == "data" || policy == "file" || policy == "off", ErrorKind::value,
        "Dataset.with_options", "auto_shard_policy = \"", policy,
        "\" - expected \"auto\", \"data\", \"file\" or \"off\" - choose one.");
  Dataset dataset = *this;
  auto division = division_ ? std::make_shared<Division>(*division_) : std::make_shared<Division>();
  division->policy = policy;
  dataset.division_ = std::move(division);
  return dataset;
}

DatasetOptions Dataset::options() const { return {division_ ? division_->policy : DatasetOptions().auto_shard_policy}; }

std::int64_t Dataset::file_count() const { return division_ ? division_->files : 0; }

Dataset Dataset::shard_files(std::int64_t num_shards, std::int64_t index) const {
  check(num_shards > 0 && index >= 0 && index < num_shards, ErrorKind::value, "Dataset.shard_files", "index ", index,
        " of ", num_shards, " shards - expected an index from 0 to num_shards - 1 - change the index.");
  check(num_shards <= file_count(), ErrorKind::value, "Dataset.shard_files", "a dataset of ", file_count(),
        " files for ", num_shards,
        " shards - expected a file for each - make it by from_files or from a folder of images, or use shard().");
  return division_->part(num_shards, index).with_options(options());
}

Dataset Dataset::of_files() const {
  Dataset dataset = *this;
  if constexpr (has_device_libraries) {
    auto division = std::make_shared<Division>();
    division->files = std::max<std::int64_t>(cardinality(), 0);
    division->part = [files = *this](std::int64_t num_shards, std::int64_t index) {
      return files.shard(num_shards, index);
    };
    dataset.division_ = std::move(division);
  }
  return dataset;
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
