#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "etude/data/batch_generator.hpp"
#include "etude/data/columns.hpp"
#include "etude/data/dataset_creator.hpp"
#include "etude/data/detail/array_like_adapter.hpp"
#include "etude/data/detail/data_adapter.hpp"
#include "etude/data/detail/generator_adapter.hpp"
#include "etude/data/detail/row_order.hpp"
#include "etude/data/detail/sequence_adapter.hpp"

namespace etude {

/// The options of an adapter.
struct AdapterOptions {
  /// How rows are divided into batches and shuffled.
  TensorLikeOptions rows{};
  /// Up to 1: the caller's thread makes batches. More: this number of threads reads a Sequence, and one thread a
  /// generator.
  int workers = 1;
  /// The most batches of a Sequence that are made in advance.
  std::int64_t max_queue_size = 10;
  /// The argument of a DatasetCreator.
  InputContext context{};
};

/// The data of fit, evaluate and predict: one of the eight kinds. Copies share arrays, generators and sequences.
class Data {
 public:
  /// A generator and its options.
  struct Generated {
    /// The function that returns batches.
    Generator generator;
    /// The options.
    GeneratorOptions options;
  };
  /// A generator of another language. The first loop that reads it consumes it.
  using Source = std::shared_ptr<std::unique_ptr<BatchSource>>;
  /// The kinds of data.
  using Kind = std::variant<Columns, Dataset, Generated, Source, SequencePtr, DatasetCreator>;

  /// Arrays: inputs, targets and sample weights.
  Data(Batch arrays);
  Data(Columns columns);
  /// Inputs only: a Tensor, a list or an ArrayLike.
  template <class T>
    requires std::constructible_from<Column, T>
  Data(T x) : Data(Columns{std::move(x)}) {}
  /// Inputs by name.
  Data(const NamedColumns& x) : Data(Columns{x}) {}
  /// Inputs, targets and sample weights.
  Data(ColumnGroup x, ColumnGroup y, ColumnGroup sample_weight = {})
      : Data(Columns{std::move(x), std::move(y), std::move(sample_weight)}) {}
  /// The elements of a Dataset; they must be batches.
  Data(Dataset dataset) : kind_(std::move(dataset)) {}
  /// The batches that a function returns.
  Data(Generator generator, GeneratorOptions options = {}) : kind_(Generated{std::move(generator), options}) {}
  /// Batches that a coroutine yields.
  Data(BatchGenerator coroutine, GeneratorOptions options = {}) : Data(Generator(std::move(coroutine)), options) {}
  /// The batches of a generator in another language.
  Data(std::unique_ptr<BatchSource> source)
      : kind_(std::make_shared<std::unique_ptr<BatchSource>>(std::move(source))) {}
  /// Batches by index.
  template <std::derived_from<Sequence> T> Data(std::shared_ptr<T> sequence)
      : kind_(SequencePtr(std::move(sequence))) {}
  /// A dataset that is created where it is read.
  Data(DatasetCreator creator) : kind_(std::move(creator)) {}

  /// The data.
  const Kind& kind() const { return kind_; }
  /// Whether batches are made from its rows. Otherwise its batches are used as they are.
  bool has_rows() const { return std::holds_alternative<Columns>(kind_); }
  /// Whether it is tensors or lists, which can be split (L-8).
  bool is_arrays() const { return arrays_ != nullptr; }
  /// The arrays; only if is_arrays().
  const Batch& arrays() const { return *arrays_; }
  /// Its kind, for errors: "tensors", "a Dataset".
  std::string to_string() const;

  /// The adapter that reads the data in batches. Throws Error(data) where data and options do not match.
  std::unique_ptr<DataAdapter> adapter(const AdapterOptions& options) const;

 private:
  Kind kind_;
  std::shared_ptr<const Batch> arrays_;
};

/// A kind of adapter: the data that it accepts, and its constructor.
struct AdapterKind {
  /// The name of the kind.
  const char* name;
  /// Whether it accepts the data.
  bool (*can_handle)(const Data& data);
  /// Creates the adapter.
  std::unique_ptr<DataAdapter> (*make)(const Data& data, const AdapterOptions& options);
};
/// All eight kinds. Source: ALL_ADAPTER_CLS in keras/engine/data_adapter.py (2.9).
std::span<const AdapterKind> adapter_kinds();
/// The kind in `kinds` that accepts the data. Throws Error(data) if none does, Error(internal) if several do.
const AdapterKind& select_data_adapter(const Data& data, std::span<const AdapterKind> kinds = adapter_kinds());

}  // namespace etude
