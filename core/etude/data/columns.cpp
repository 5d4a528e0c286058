#include "etude/data/columns.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"

namespace etude {
namespace {

/// A tensor as an ArrayLike.
class TensorRows : public ArrayLike {
 public:
  explicit TensorRows(Tensor tensor) : tensor_(std::move(tensor)) {}
  const Shape& shape() const override { return tensor_.shape(); }
  DType dtype() const override { return tensor_.dtype(); }
  void read(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const Tensor rows = tensor_.rows(first, last);
    if (rows.bytes()) std::memcpy(out, rows.raw(), rows.bytes());
  }

 private:
  Tensor tensor_;
};

using Names = std::span<const std::string>;

std::string joined(Names names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The place of a name, or -1.
std::ptrdiff_t place_of(const std::string& name, Names names) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : found - names.begin();
}

/// The names that match no input or output.
std::vector<std::string> unknown_names(Names given, Names names) {
  std::vector<std::string> result;
  std::ranges::copy_if(given, std::back_inserter(result),
                       [&](const std::string& name) { return place_of(name, names) < 0; });
  return result;
}

void check_has_names(Names given, const char* what, Names names) {
  check(!names.empty(), ErrorKind::data, "data", "`", what, "` by name (", joined(given),
        ") for a model without names - expected arrays in order - pass a list, or build a Functional model from "
        "its inputs to its outputs.");
}

ColumnGroup inputs_in_order(const ColumnGroup& x, Names names) {
  if (!x.named()) return x;
  std::vector<Column> columns;
  for (const std::ptrdiff_t place : input_places(x.names(), names)) columns.push_back(x.begin()[place]);
  return columns;
}

/// One column for each of `names`; `other` for names that the group lacks.
ColumnGroup filled_up(const ColumnGroup& group, const char* what, Names names, const Tensor& other) {
  const Column one = group.front().form() == Column::Form::list ? Column(List(other)) : Column(other);
  std::vector<Column> columns;
  for (const std::ptrdiff_t place : output_places(group.names(), what, names))
    columns.push_back(place < 0 ? one : group.begin()[place]);
  return columns;
}

std::int64_t rows_in(const ColumnGroup& group) {
  const Shape shape = group.front().rows()->shape();
  return shape.rank() ? shape[0] : 0;
}

// A model that does not know the names of its outputs yet has them after its first call: its step has the names.

ColumnGroup targets_in_order(const ColumnGroup& y, Names names) {
  return y.named() && !names.empty() ? filled_up(y, "y", names, no_target(rows_in(y))) : y;
}

ColumnGroup weights_in_order(const ColumnGroup& weights, Names names) {
  if (!weights.named() || names.empty()) return weights;
  const std::int64_t rows = rows_in(weights);
  return filled_up(weights, "sample_weight", names,
                   Tensor::from({rows}, std::vector<float>(static_cast<std::size_t>(rows), 1)));
}

}  // namespace

ArrayLikePtr Column::rows() const { return array_ ? array_ : std::make_shared<TensorRows>(tensor_); }

ColumnGroup::ColumnGroup(const NamedColumns& named) {
  for (const auto& [name, column] : named) {
    names_.push_back(name);
    columns_.push_back(column);
  }
}

ColumnGroup::ColumnGroup(std::initializer_list<NamedColumns::value_type> named) : ColumnGroup(NamedColumns(named)) {
  check(names_.size() == named.size(), ErrorKind::data, "data", named.size(), " arrays by ", names_.size(),
        " names - expected a name for each - give them different names.");
}

std::vector<std::ptrdiff_t> input_places(Names given, Names inputs) {
  check_has_names(given, "x", inputs);
  if (const auto unused = unknown_names(given, inputs); !unused.empty())
    print_warning({}, "Input dict contained keys [" + joined(unused) +
                          "] which did not match any model input. They will be ignored by the model.");
  std::vector<std::ptrdiff_t> places;
  for (const std::string& name : inputs) {
    places.push_back(place_of(name, given));
    check(places.back() >= 0, ErrorKind::data, "data", "no data for input \"", name,
          "\" - expected an array for each of ", joined(inputs), " - pass an array of that name.");
  }
  return places;
}

std::vector<std::ptrdiff_t> output_places(Names given, const char* what, Names outputs) {
  check_has_names(given, what, outputs);
  const auto unknown = unknown_names(given, outputs);
  check(unknown.empty(), ErrorKind::data, "data", "`", what, "` for output \"", unknown.empty() ? "" : unknown.front(),
        "\" - expected one of: ", joined(outputs), " - outputs have the names of their layers.");
  std::vector<std::ptrdiff_t> places;
  for (const std::string& name : outputs) places.push_back(place_of(name, given));
  return places;
}

std::shared_ptr<const BatchNames> names_of(const Columns& columns) {
  const auto& [x, y, sample_weight] = columns;
  if (!x.named() && !y.named() && !sample_weight.named()) return nullptr;
  return std::make_shared<BatchNames>(BatchNames{x.names(), y.names(), sample_weight.names()});
}

Columns in_order(const Columns& columns, std::span<const std::string> inputs, std::span<const std::string> outputs) {
  return {inputs_in_order(columns.x, inputs), targets_in_order(columns.y, outputs),
          weights_in_order(columns.sample_weight, outputs)};
}

Batch named_batch(const ColumnGroup& x, const ColumnGroup& y, const ColumnGroup& sample_weight) {
  const auto tensors_of = [](const ColumnGroup& group) {
    std::vector<Tensor> tensors;
    for (const Column& column : group) tensors.push_back(column.tensor());
    return tensors;
  };
  Batch batch{tensors_of(x), tensors_of(y), tensors_of(sample_weight)};
  batch.names = names_of({x, y, sample_weight});
  return batch;
}

}  // namespace etude
