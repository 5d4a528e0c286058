#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/nesting.hpp"
#include "etude/data/array_like.hpp"
#include "etude/data/batch.hpp"
#include "etude/data/composite.hpp"
#include "etude/data/list.hpp"

namespace etude {

/// An array of a model's inputs, targets or sample weights, in one of the forms of arrays.
class Column {
 public:
  /// The forms of an array.
  enum class Form : std::uint8_t { tensor, list, array_like, composite };

  /// An array in memory.
  Column(Tensor tensor) : form_(Form::tensor), tensor_(std::move(tensor)) {}
  /// Nested initializer lists of numbers.
  Column(const List& list) : form_(Form::list), tensor_(list.tensor()) {}
  /// A vector, or a vector of vectors.
  template <class T>
    requires std::constructible_from<List, const std::vector<T>&>
  Column(const std::vector<T>& numbers) : Column(List(numbers)) {}
  /// An array whose rows are read on demand.
  template <std::derived_from<ArrayLike> T>
  Column(std::shared_ptr<T> array) : form_(Form::array_like), array_(std::move(array)) {}
  /// A sparse matrix.
  Column(CsrMatrix matrix) : form_(Form::composite), array_(std::make_shared<CsrMatrix>(std::move(matrix))) {}
  /// Rows of different lengths.
  Column(RaggedTensor rows) : form_(Form::composite), array_(std::make_shared<RaggedTensor>(std::move(rows))) {}

  /// The form of the array.
  Form form() const { return form_; }
  /// The tensor, or the tensor of the list. Only for these forms.
  const Tensor& tensor() const { return tensor_; }
  /// The rows of any form.
  ArrayLikePtr rows() const;

 private:
  Form form_;
  Tensor tensor_;
  ArrayLikePtr array_;
};

/// Arrays by the names of a model's inputs or outputs, or by their paths in nested lists and dicts: "meta/age",
/// "meta/sizes/0".
using NamedColumns = std::map<std::string, Column, PathOrder>;

/// A model's inputs, its targets or its sample weights: one array, several in the model's order, or several by name.
///
///     model.fit(Data({{"age", age}, {"photo", photo}}, price));
class ColumnGroup {
 public:
  ColumnGroup() = default;
  /// One array.
  template <class T>
    requires std::constructible_from<Column, T>
  ColumnGroup(T one) : columns_{Column(std::move(one))} {}
  /// Several arrays, in the model's order.
  ColumnGroup(std::vector<Column> in_order) : columns_(std::move(in_order)) {}
  /// Several arrays, by name. They are in the order of their names.
  ColumnGroup(const NamedColumns& named);
  /// The same. Throws Error(data) for two arrays of one name.
  ColumnGroup(std::initializer_list<NamedColumns::value_type> named);

  /// Whether there is no array.
  bool empty() const { return columns_.empty(); }
  /// The first array.
  auto begin() const { return columns_.begin(); }
  /// The end of the arrays.
  auto end() const { return columns_.end(); }
  /// The first array.
  const Column& front() const { return columns_.front(); }
  /// Whether the arrays have names. Then their order is not yet that of the model.
  bool named() const { return !names_.empty(); }
  /// The names, in the order of the arrays; empty without.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

/// All arrays of a model.
struct Columns {
  /// Inputs, targets and sample weights.
  ColumnGroup x, y = {}, sample_weight = {};
};

/// The names of the arrays; null if none has one.
std::shared_ptr<const BatchNames> names_of(const Columns& columns);

/// For each of a model's inputs, or outputs, its place among arrays of the names `given`. If they are `required`, as
/// inputs are, others than these are ignored with a warning; else -1 stands for those that are not given. `what` names
/// the arrays in errors. Throws Error(data) for a missing input, an unknown output, and a model without names. Source:
/// Functional._flatten_to_reference_inputs in keras/engine/functional.py (2.9).
std::vector<std::ptrdiff_t> places_of(std::span<const std::string> given, std::span<const std::string> names,
                                      const char* what, bool required);

/// A batch of tensors or lists, of which any group may be by name: for generators, Datasets and Sequences.
///
///     co_yield named_batch({{"age", age}, {"photo", photo}}, {{"price", price}});
Batch named_batch(const ColumnGroup& x, const ColumnGroup& y = {}, const ColumnGroup& sample_weight = {});

}  // namespace etude
