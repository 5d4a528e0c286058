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
#include "etude/data/composite.hpp"
#include "etude/data/data_adapter.hpp"
#include "etude/data/dataset_creator.hpp"
#include "etude/data/generator_adapter.hpp"
#include "etude/data/list.hpp"
#include "etude/data/row_order.hpp"
#include "etude/data/sequence_adapter.hpp"

namespace etude {

/// One array of a model's inputs, targets or sample weights, in one of the forms that arrays have.
class Column {
 public:
  enum class Form : std::uint8_t { tensor, list, array_like, composite };

  Column(Tensor tensor) : form_(Form::tensor), tensor_(std::move(tensor)) {}
  Column(const List& list) : form_(Form::list), tensor_(list.tensor()) {}
  template <class T>
    requires std::constructible_from<List, const std::vector<T>&>
  Column(const std::vector<T>& numbers) : Column(List(numbers)) {}
  template <std::derived_from<ArrayLike> T>
  Column(std::shared_ptr<T> array) : form_(Form::array_like), array_(std::move(array)) {}
  Column(CsrMatrix matrix) : form_(Form::composite), array_(std::make_shared<CsrMatrix>(std::move(matrix))) {}
  Column(RaggedTensor rows) : form_(Form::composite), array_(std::make_shared<RaggedTensor>(std::move(rows))) {}

  Form form() const { return form_; }
  /// The tensor, or what the list became; only of those.
  const Tensor& tensor() const { return tensor_; }
  /// The rows of any form.
  ArrayLikePtr rows() const;

 private:
  Form form_;
  Tensor tensor_;
  ArrayLikePtr array_;
};

/// All arrays of a model.
struct Columns {
  std::vector<Column> x, y = {}, sample_weight = {};
};

/// What an adapter is made with, besides the data.
struct AdapterOptions {
  TensorLikeOptions rows{};
  /// Up to 1: batches are made by the caller's thread. More: a Sequence is read by so many threads, a generator by one.
  int workers = 1;
  /// How many batches of a Sequence there may be ahead.
  std::int64_t max_queue_size = 10;
};

/// What fit, evaluate and predict read: one of the eight kinds of data. Copies share arrays, generators and sequences.
class Data {
 public:
  struct Generated {
    Generator generator;
    GeneratorOptions options;
  };
  /// A source of another language, used up by the first loop that reads it.
  using Source = std::shared_ptr<std::unique_ptr<BatchSource>>;
  using Kind = std::variant<Columns, Dataset, Generated, Source, SequencePtr, DatasetCreator>;

  Data(Batch arrays);
  Data(Columns columns);
  template <class T>
    requires std::constructible_from<Column, T>
  Data(T x) : Data(Columns{{Column(std::move(x))}}) {}
  Data(Column x, Column y) : Data(Columns{{std::move(x)}, {std::move(y)}}) {}
  Data(Column x, Column y, Column sample_weight)
      : Data(Columns{{std::move(x)}, {std::move(y)}, {std::move(sample_weight)}}) {}
  Data(Dataset dataset) : kind_(std::move(dataset)) {}
  Data(Generator generator, GeneratorOptions options = {}) : kind_(Generated{std::move(generator), options}) {}
  Data(BatchGenerator coroutine, GeneratorOptions options = {}) : Data(Generator(std::move(coroutine)), options) {}
  Data(std::unique_ptr<BatchSource> source)
      : kind_(std::make_shared<std::unique_ptr<BatchSource>>(std::move(source))) {}
  template <std::derived_from<Sequence> T> Data(std::shared_ptr<T> sequence)
      : kind_(SequencePtr(std::move(sequence))) {}
  Data(DatasetCreator creator) : kind_(std::move(creator)) {}

  const Kind& kind() const { return kind_; }
  /// Whether batches are cut out of its rows, rather than come as they are.
  bool has_rows() const { return std::holds_alternative<Columns>(kind_); }
  /// Whether it is tensors, or lists, which can be split (L-8).
  bool is_arrays() const { return arrays_ != nullptr; }
  /// The arrays; only if is_arrays().
  const Batch& arrays() const { return *arrays_; }
  /// What it is, for errors: "tensors", "a Dataset".
  std::string to_string() const;

  std::unique_ptr<DataAdapter> adapter(const AdapterOptions& options) const;

 private:
  Kind kind_;
  std::shared_ptr<const Batch> arrays_;
};

/// One kind of adapter: which data it takes, and how it is made.
struct AdapterKind {
  const char* name;
  bool (*can_handle)(const Data& data);
  std::unique_ptr<DataAdapter> (*make)(const Data& data, const AdapterOptions& options);
};
/// The eight of them. Source: ALL_ADAPTER_CLS in keras/engine/data_adapter.py (2.9).
std::span<const AdapterKind> adapter_kinds();
/// The one of `kinds` that takes the data. Throws Error(data) if none does, Error(internal) if several do.
const AdapterKind& select_data_adapter(const Data& data, std::span<const AdapterKind> kinds = adapter_kinds());

}  // namespace etude
