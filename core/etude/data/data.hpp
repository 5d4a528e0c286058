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

#include "etude/data/array_like_adapter.hpp"
#include "etude/data/batch_generator.hpp"
#include "etude/data/columns.hpp"
#include "etude/data/data_adapter.hpp"
#include "etude/data/dataset_creator.hpp"
#include "etude/data/generator_adapter.hpp"
#include "etude/data/row_order.hpp"
#include "etude/data/sequence_adapter.hpp"

namespace etude {

/// The options of an adapter.
struct AdapterOptions {
  TensorLikeOptions rows{};
  /// Up to 1: the caller's thread makes batches. More: this number of threads reads a Sequence, and one thread a
  /// generator.
  int workers = 1;
  /// The most batches of a Sequence that are made in advance.
  std::int64_t max_queue_size = 10;
};

/// The data of fit, evaluate and predict: one of the eight kinds. Copies share arrays, generators and sequences.
class Data {
 public:
  struct Generated {
    Generator generator;
    GeneratorOptions options;
  };
  /// A source of another language. The first loop that reads it consumes it.
  using Source = std::shared_ptr<std::unique_ptr<BatchSource>>;
  using Kind = std::variant<Columns, Dataset, Generated, Source, SequencePtr, DatasetCreator>;

  Data(Batch arrays);
  Data(Columns columns);
  template <class T>
    requires std::constructible_from<Column, T>
  Data(T x) : Data(Columns{std::move(x)}) {}
  Data(const NamedColumns& x) : Data(Columns{x}) {}
  Data(ColumnGroup x, ColumnGroup y, ColumnGroup sample_weight = {})
      : Data(Columns{std::move(x), std::move(y), std::move(sample_weight)}) {}
  Data(Dataset dataset) : kind_(std::move(dataset)) {}
  Data(Generator generator, GeneratorOptions options = {}) : kind_(Generated{std::move(generator), options}) {}
  Data(BatchGenerator coroutine, GeneratorOptions options = {}) : Data(Generator(std::move(coroutine)), options) {}
  Data(std::unique_ptr<BatchSource> source)
      : kind_(std::make_shared<std::unique_ptr<BatchSource>>(std::move(source))) {}
  template <std::derived_from<Sequence> T> Data(std::shared_ptr<T> sequence)
      : kind_(SequencePtr(std::move(sequence))) {}
  Data(DatasetCreator creator) : kind_(std::move(creator)) {}

  const Kind& kind() const { return kind_; }
  /// Whether batches are made from its rows. Otherwise its batches are used as they are.
  bool has_rows() const { return std::holds_alternative<Columns>(kind_); }
  /// The same data, with arrays by name put in the order of these inputs and outputs (etude::in_order()).
  Data in_order(std::span<const std::string> inputs, std::span<const std::string> outputs) const;
  /// Whether it is tensors or lists, which can be split (L-8).
  bool is_arrays() const { return arrays_ != nullptr; }
  /// The arrays; only if is_arrays().
  const Batch& arrays() const { return *arrays_; }
  /// Its kind, for errors: "tensors", "a Dataset".
  std::string to_string() const;

  std::unique_ptr<DataAdapter> adapter(const AdapterOptions& options) const;

 private:
  Kind kind_;
  std::shared_ptr<const Batch> arrays_;
};

/// A kind of adapter: the data that it accepts, and its constructor.
struct AdapterKind {
  const char* name;
  bool (*can_handle)(const Data& data);
  std::unique_ptr<DataAdapter> (*make)(const Data& data, const AdapterOptions& options);
};
/// All eight kinds. Source: ALL_ADAPTER_CLS in keras/engine/data_adapter.py (2.9).
std::span<const AdapterKind> adapter_kinds();
/// The kind in `kinds` that accepts the data. Throws Error(data) if none does, Error(internal) if several do.
const AdapterKind& select_data_adapter(const Data& data, std::span<const AdapterKind> kinds = adapter_kinds());

}  // namespace etude
