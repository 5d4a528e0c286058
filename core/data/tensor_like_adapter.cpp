#include "etude/data/tensor_like_adapter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr const char* where = "data";

/// L-1.
std::int64_t resolve_batch_size(const TensorLikeOptions& options, std::int64_t samples) {
  if (options.steps)
    check(*options.steps > 0, ErrorKind::value, where, "steps ", *options.steps,
          " - expected 1 or more - choose a positive one.");
  if (!options.batch_size) return options.steps ? (samples - 1) / *options.steps + 1 : 32;
  check(*options.batch_size > 0, ErrorKind::value, where, "batch_size ", *options.batch_size,
        " - expected 1 or more - choose a positive one.");
  return *options.batch_size;
}

Batch checked(Batch arrays) {
  check_cardinality(arrays, where);
  cast_to_floatx(arrays);
  return arrays;
}

/// Calls `visit(array, tensor of the other batch in the same place)` for all tensors.
template <class Visit> void zip(const Batch& arrays, Batch& other, Visit visit) {
  for (std::size_t i = 0; i < arrays.x.size(); ++i) visit(arrays.x[i], other.x[i]);
  for (std::size_t i = 0; i < arrays.y.size(); ++i) visit(arrays.y[i], other.y[i]);
  for (std::size_t i = 0; i < arrays.sample_weight.size(); ++i) visit(arrays.sample_weight[i], other.sample_weight[i]);
}

/// Copies the rows that `order` names, one after the other. The usual label sizes are compiled as one move each.
template <std::size_t known_size = 0>
void gather(const std::byte* in, std::byte* out, const std::int64_t* order, std::int64_t rows,
            std::size_t size = known_size) {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(out, in + static_cast<std::size_t>(order[i]) * size, known_size ? known_size : size);
    out += size;
  }
}

}  // namespace

TensorLikeAdapter::TensorLikeAdapter(Batch arrays, const TensorLikeOptions& options)
    : arrays_(checked(std::move(arrays))),
      example_(arrays_),
      samples_(arrays_.size()),
      batch_size_(std::min(resolve_batch_size(options, samples_), samples_)),
      shuffle_(options.shuffle),
      seed_(options.seed),
      prefetcher_([this](std::size_t slot) { return fill(slots_[slot]); }, options.prefetch) {
  zip(arrays_, example_, [&](const Tensor& array, Tensor& out) { out = array.rows(0, batch_size_); });
  if (shuffle_ != Shuffle::none) {
    check(samples_ <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::value, where, samples_,
          " samples to shuffle - expected fewer than 2^32 - pass shuffle = false.");
    order_.resize(static_cast<std::size_t>(samples_));
  }
  if (shuffle_ == Shuffle::batch) batch_order_.resize(static_cast<std::size_t>(*size()));
  slots_[0] = make_slot();
  if (options.prefetch) slots_[1] = make_slot();
  order_batches(0);
}

std::optional<std::int64_t> TensorLikeAdapter::partial_batch_size() const {
  const std::int64_t rest = samples_ % batch_size_;
  return rest ? std::optional(rest) : std::nullopt;
}

TensorLikeAdapter::Slot TensorLikeAdapter::make_slot() const {
  Slot slot{arrays_, arrays_};
  if (shuffle_ != Shuffle::none)
    zip(arrays_, slot.buffers, [&](const Tensor& array, Tensor& buffer) {
      Shape shape = array.shape();
      shape[0] = batch_size_;
      buffer = Tensor(shape, array.dtype());
    });
  return slot;
}

void TensorLikeAdapter::begin_epoch(int epoch) {
  prefetcher_.pause();
  order_batches(epoch);
}

void TensorLikeAdapter::order_batches(int epoch) {
  const auto number = static_cast<std::uint32_t>(epoch);
  batch_ = sample_ = 0;
  if (shuffle_ == Shuffle::samples) shuffled_order(order_, seed_, number);
  if (shuffle_ != Shuffle::batch) return;
  shuffled_order(batch_order_, seed_, number);
  // Epochs count from 0, so the complement is a substream that no epoch uses.
  Random random(seed_, RandomStream::shuffle, ~number);
  std::size_t at = 0;
  for (std::int64_t batch : batch_order_) {
    const std::int64_t first = batch * batch_size_, last = std::min(first + batch_size_, samples_);
    const std::size_t begin = at;
    for (std::int64_t row = first; row < last; ++row) order_[at++] = row;
    for (std::size_t left = at - begin; left > 1; --left)
      std::swap(order_[begin + left - 1], order_[begin + random.below(static_cast<std::uint32_t>(left))]);
  }
}

PendingPtr TensorLikeAdapter::fetch() {
  prefetcher_.fetch();
  return nullptr;
}

const Batch* TensorLikeAdapter::take() {
  const std::optional<std::size_t> slot = prefetcher_.take();
  return slot ? &slots_[*slot].batch : nullptr;
}

std::int64_t TensorLikeAdapter::rows_of_next() const {
  // Shuffled batches keep their size, so the partial one may come at any time.
  const std::int64_t first =
      shuffle_ == Shuffle::batch ? batch_order_[static_cast<std::size_t>(batch_)] * batch_size_ : sample_;
  return std::min(batch_size_, samples_ - first);
}

bool TensorLikeAdapter::fill(Slot& slot) {
  if (sample_ == samples_) return false;
  const std::int64_t rows = rows_of_next();
  for (auto member : {&Batch::x, &Batch::y, &Batch::sample_weight})
    for (std::size_t i = 0; i < (arrays_.*member).size(); ++i)
      fill((slot.batch.*member)[i], (arrays_.*member)[i], (slot.buffers.*member)[i], rows);
  sample_ += rows;
  ++batch_;
  return true;
}

void TensorLikeAdapter::fill(Tensor& out, const Tensor& array, Tensor& buffer, std::int64_t rows) {
  if (shuffle_ == Shuffle::none) {
    out = array.rows(sample_, sample_ + rows);
    return;
  }
  const std::int64_t* order = order_.data() + sample_;
  const std::size_t size = array.bytes() / static_cast<std::size_t>(samples_);
  switch (size) {
    case 1: gather<1>(array.raw(), buffer.raw(), order, rows); break;
    case 4: gather<4>(array.raw(), buffer.raw(), order, rows); break;
    case 8: gather<8>(array.raw(), buffer.raw(), order, rows); break;
    default: gather(array.raw(), buffer.raw(), order, rows, size);
  }
  out = buffer.rows(0, rows);
}

}  // namespace etude
