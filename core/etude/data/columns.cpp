#include "etude/data/columns.hpp"

#include <algorithm>
#include <cstring>

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

std::vector<std::ptrdiff_t> places_of(Names given, Names names, const char* what, bool required) {
  check(!names.empty(), ErrorKind::data, "data", "`", what, "` by name (", joined(given),
        ") for a model without names - expected arrays in order - pass a list, or build a Functional model from "
        "its inputs to its outputs.");
  std::vector<std::string> unknown;
  std::vector<std::ptrdiff_t> places(names.size(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::ptrdiff_t place = place_of(given[i], names);
    if (place < 0)
      unknown.push_back(given[i]);
    else
      places[static_cast<std::size_t>(place)] = static_cast<std::ptrdiff_t>(i);
  }
  if (required && !unknown.empty())
    print_warning({}, "Input dict contained keys [" + joined(unknown) +
                          "] which did not match any model input. They will be ignored by the model.");
  check(required || unknown.empty(), ErrorKind::data, "data", "`", what, "` for output \"", joined(unknown),
        "\" - expected one of: ", joined(names), " - outputs have the names of their layers.");
  for (std::size_t i = 0; required && i < names.size(); ++i)
    check(places[i] >= 0, ErrorKind::data, "data", "no data for input \"", names[i],
          "\" - expected an array for each of ", joined(names), " - pass an array of that name.");
  return places;
}

std::shared_ptr<const BatchNames> names_of(const Columns& columns) {
  const auto& [x, y, sample_weight] = columns;
  if (!x.named() && !y.named() && !sample_weight.named()) return nullptr;
  return std::make_shared<BatchNames>(BatchNames{x.names(), y.names(), sample_weight.names()});
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
