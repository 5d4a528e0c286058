#include "etude/data/columns.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
#include "etude/data/batch.hpp"

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

std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The names of a group that match no input or output.
std::vector<std::string> unknown_names(const ColumnGroup& group, std::span<const std::string> names) {
  std::vector<std::string> result;
  std::ranges::copy_if(group.names(), std::back_inserter(result),
                       [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  return result;
}

void check_has_names(const ColumnGroup& group, const char* what, std::span<const std::string> names) {
  check(!names.empty(), ErrorKind::data, "data", "`", what, "` by name (", joined(group.names()),
        ") for a model without names - expected arrays in order - pass a list, or build a Functional model from "
        "its inputs to its outputs.");
}

/// One column for each of `names`. `what` is its name in errors.
ColumnGroup one_for_each(const ColumnGroup& group, std::span<const std::string> names, std::string_view what) {
  std::vector<Column> columns;
  for (const std::string& name : names) {
    const Column* column = group.find(name);
    check(column != nullptr, ErrorKind::data, "data", "no ", what, " \"", name, "\" - expected an array for each of ",
          joined(names), " - pass an array of that name.");
    columns.push_back(*column);
  }
  return columns;
}

ColumnGroup inputs_in_order(const ColumnGroup& x, std::span<const std::string> names) {
  if (!x.named()) return x;
  check_has_names(x, "x", names);
  if (const auto unused = unknown_names(x, names); !unused.empty())
    print_warning({}, "Input dict contained keys [" + joined(unused) +
                          "] which did not match any model input. They will be ignored by the model.");
  return one_for_each(x, names, "data for input");
}

void check_all_known(const ColumnGroup& group, const char* what, std::span<const std::string> names) {
  check_has_names(group, what, names);
  const auto unknown = unknown_names(group, names);
  check(unknown.empty(), ErrorKind::data, "data", "`", what, "` for output \"", unknown.empty() ? "" : unknown.front(),
        "\" - expected one of: ", joined(names), " - outputs have the names of their layers.");
}

/// One column for each of `names`; `other` for names that the group lacks.
ColumnGroup filled_up(const ColumnGroup& group, std::span<const std::string> names, const Tensor& other) {
  const Column one = group.front().form() == Column::Form::list ? Column(List(other)) : Column(other);
  std::vector<Column> columns;
  for (const std::string& name : names) {
    const Column* column = group.find(name);
    columns.push_back(column ? *column : one);
  }
  return columns;
}

std::int64_t rows_in(const ColumnGroup& group) {
  const Shape shape = group.front().rows()->shape();
  return shape.rank() ? shape[0] : 0;
}

ColumnGroup targets_in_order(const ColumnGroup& y, std::span<const std::string> names) {
  if (!y.named()) return y;
  check_all_known(y, "y", names);
  return filled_up(y, names, no_target(rows_in(y)));
}

ColumnGroup weights_in_order(const ColumnGroup& weights, std::span<const std::string> names) {
  if (!weights.named()) return weights;
  check_all_known(weights, "sample_weight", names);
  const std::int64_t rows = rows_in(weights);
  return filled_up(weights, names, Tensor::from({rows}, std::vector<float>(static_cast<std::size_t>(rows), 1)));
}

}  // namespace

ArrayLikePtr Column::rows() const { return array_ ? array_ : std::make_shared<TensorRows>(tensor_); }

ColumnGroup::ColumnGroup(const NamedColumns& named) {
  for (const auto& [name, column] : named) {
    names_.push_back(name);
    columns_.push_back(column);
  }
}

const Column* ColumnGroup::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? nullptr : &columns_[static_cast<std::size_t>(found - names_.begin())];
}

Columns in_order(const Columns& columns, std::span<const std::string> inputs, std::span<const std::string> outputs) {
  return {inputs_in_order(columns.x, inputs), targets_in_order(columns.y, outputs),
          weights_in_order(columns.sample_weight, outputs)};
}

}  // namespace etude
