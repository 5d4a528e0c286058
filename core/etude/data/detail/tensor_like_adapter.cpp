#include "etude/data/detail/tensor_like_adapter.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "etude/data/detail/copy_rows.hpp"
#include "etude/data/detail/element.hpp"

namespace etude {
namespace {

constexpr const char* where = "data";

Batch checked(Batch arrays) {
  check_cardinality(arrays, where);
  cast_to_floatx(arrays);
  return arrays;
}

}  // namespace

TensorLikeAdapter::TensorLikeAdapter(Batch arrays, const TensorLikeOptions& options)
    : arrays_(std::make_shared<const Batch>(checked(std::move(arrays)))),
      example_(*arrays_),
      order_(arrays_->size(), options),
      prefetches_(options.prefetch),
      prefetcher_([this](std::size_t slot) { return fill(slots_[slot]); }, options.prefetch) {
  zip_tensors(*arrays_, example_, [&](const Tensor& array, Tensor& out) { out = array.rows(0, order_.batch_size()); });
  slots_[0] = make_slot();
  if (options.prefetch) slots_[1] = make_slot();
}

TensorLikeAdapter::Slot TensorLikeAdapter::make_slot() const {
  Slot slot{*arrays_, *arrays_};
  if (order_.shuffles())
    zip_tensors(*arrays_, slot.buffers, [&](const Tensor& array, Tensor& buffer) {
      Shape shape = array.shape();
      shape[0] = order_.batch_size();
      buffer = Tensor(shape, array.dtype());
    });
  return slot;
}

void TensorLikeAdapter::begin_epoch(int epoch) {
  prefetcher_.pause();
  order_.begin(epoch);
  consumed_ = 0;
  note_order();
}

PendingPtr TensorLikeAdapter::fetch() {
  prefetcher_.fetch();
  return nullptr;
}

const Batch* TensorLikeAdapter::consume() {
  const std::optional<std::size_t> slot = prefetcher_.consume();
  if (!slot) return nullptr;
  ++consumed_;
  return &slots_[*slot].batch;
}

DataState TensorLikeAdapter::state() const { return order_.state(consumed_); }

void TensorLikeAdapter::restore(const DataState& state) {
  prefetcher_.pause();
  consumed_ = order_.restore(state);
  note_order();
}

bool TensorLikeAdapter::fill(Slot& slot) {
  if (order_.ended()) return false;
  const std::int64_t rows = order_.rows();
  if (selects_) {
    select(slot, rows);
  } else {
    for (auto member : {&Batch::x, &Batch::y, &Batch::sample_weight})
      for (std::size_t i = 0; i < ((*arrays_).*member).size(); ++i)
        fill((slot.batch.*member)[i], ((*arrays_).*member)[i], (slot.buffers.*member)[i], rows);
    for (std::size_t i = 0; i < arrays_->mask.size(); ++i)
      if (arrays_->mask[i]) fill(slot.batch.mask[i], arrays_->mask[i], slot.buffers.mask[i], rows);
    const std::int64_t before = std::max<std::int64_t>(arrays_->numbers.first, 0);
    slot.batch.numbers = {before + order_.first(), order_.shuffles() ? order_.indices() : nullptr, before};
  }
  order_.advance();
  return true;
}

void TensorLikeAdapter::select_rows() {
  selects_ = true;
  for (Slot& slot : slots_) {
    slot.buffers = {};
    slot.batch = *arrays_;
  }
  selected_.resize(static_cast<std::size_t>(samples()));
  std::iota(selected_.begin(), selected_.end(), 0);
  note_order();
}

void TensorLikeAdapter::note_order() {
  if (!selects_ || !order_.shuffles()) return;
  std::ranges::transform(order_.order(), selected_.begin(),
                         [](std::int64_t row) { return static_cast<std::int32_t>(row); });
  ++pass_;
}

void TensorLikeAdapter::select(Slot& slot, std::int64_t rows) const {
  zip_tensors(*arrays_, slot.batch, [&](const Tensor& array, Tensor& out) { out = array.rows(0, rows); });
  slot.batch.selection = {arrays_, selected_, order_.first(), pass_};
}

void TensorLikeAdapter::fill(Tensor& out, const Tensor& array, Tensor& buffer, std::int64_t rows) {
  if (!order_.shuffles()) {
    out = array.rows(order_.first(), order_.first() + rows);
    return;
  }
  copy_rows(array.raw(), buffer.raw(), {order_.indices(), static_cast<std::size_t>(rows)},
            array.bytes() / static_cast<std::size_t>(order_.samples()));
  out = buffer.rows(0, rows);
}

}  // namespace etude
