#include "etude/data/detail/array_like_adapter.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr const char* where = "data";

/// The common number of rows.
std::int64_t samples_of(const ArrayLikes& arrays) {
  check(!arrays.x.empty(), ErrorKind::data, where, "no x - expected one array per model input - pass the inputs.");
  check_array_like(arrays.x.front(), where);
  const std::int64_t samples = arrays.x.front()->rows();
  for (const auto* group : {&arrays.x, &arrays.y, &arrays.sample_weight})
    for (const ArrayLikePtr& array : *group) {
      check_array_like(array, where);
      check(array->rows() == samples, ErrorKind::data, where, "Data cardinality is ambiguous: x sizes: ", samples,
            "; another array has ", array->rows(),
            " - expected the same number of samples in all arrays - check the data.");
    }
  check(samples > 0, ErrorKind::data, where, "x of shape ", arrays.x.front()->shape(),
        " is empty - expected at least one sample - check the data.");
  return samples;
}

}  // namespace

ArrayLikeAdapter::ArrayLikeAdapter(ArrayLikes arrays, const TensorLikeOptions& options)
    : AwaitedAdapter(where), arrays_(std::move(arrays)), order_(samples_of(arrays_), options) {}

void ArrayLikeAdapter::begin_epoch(int epoch) {
  if (epoch == order_.epoch() && consumed() == 0) return;  // the batch of peek() is not read twice
  order_.begin(epoch);
  rewind();
}

void ArrayLikeAdapter::restore(const DataState& state) { rewind(order_.restore(state)); }

Task<std::optional<Batch>> ArrayLikeAdapter::next() {
  if (order_.ended()) co_return std::nullopt;
  rows_.resize(static_cast<std::size_t>(order_.rows()));
  if (order_.shuffles())
    std::copy_n(order_.indices(), order_.rows(), rows_.begin());
  else
    std::iota(rows_.begin(), rows_.end(), order_.first());
  order_.advance();
  Batch batch;
  co_await read(arrays_.x, batch.x);
  co_await read(arrays_.y, batch.y);
  co_await read(arrays_.sample_weight, batch.sample_weight);
  for (const ArrayLikePtr& array : arrays_.x) batch.mask.push_back(array->mask_of(rows_));
  batch.names = arrays_.names;
  co_return batch;
}

Task<> ArrayLikeAdapter::read(const std::vector<ArrayLikePtr>& arrays, std::vector<Tensor>& tensors) const {
  for (const ArrayLikePtr& array : arrays) {
    Shape shape = array->shape();
    shape[0] = std::ssize(rows_);
    tensors.emplace_back(shape, array->dtype());
    co_await array->fetch(rows_, tensors.back().raw());
  }
}

}  // namespace etude
