#include "etude/data/detail/row_order.hpp"

#include <algorithm>
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
          " - expected 1 or more - pass a positive number.");
  if (!options.batch_size) return options.steps ? (samples - 1) / *options.steps + 1 : 32;
  check(*options.batch_size > 0, ErrorKind::value, where, "batch_size ", *options.batch_size,
        " - expected 1 or more - pass a positive number.");
  return *options.batch_size;
}

}  // namespace

RowOrder::RowOrder(std::int64_t samples, const TensorLikeOptions& options)
    : samples_(samples),
      batch_size_(std::min(resolve_batch_size(options, samples), samples)),
      shuffle_(options.shuffle),
      seed_(options.seed) {
  if (shuffles()) {
    const auto room = std::min<std::uint64_t>(order_.max_size(), std::numeric_limits<std::uint32_t>::max());
    check(static_cast<std::uint64_t>(samples_) <= room, ErrorKind::value, where, samples_,
          " samples to shuffle - expected ", room, " at most - pass shuffle = false.");
    order_.resize(static_cast<std::size_t>(samples_));
  }
  if (shuffle_ == Shuffle::batch) batch_order_.resize(static_cast<std::size_t>(batches()));
  begin(0);
}

std::optional<std::int64_t> RowOrder::partial_batch_size() const {
  const std::int64_t rest = samples_ % batch_size_;
  return rest ? std::optional(rest) : std::nullopt;
}

void RowOrder::begin(int epoch, std::int64_t batch) {
  epoch_ = epoch;
  batch_ = sample_ = 0;
  if (shuffle_ == Shuffle::samples) shuffled_order(order_, seed_, static_cast<std::uint32_t>(epoch));
  if (shuffle_ == Shuffle::batch) shuffle_batches();
  while (batch_ < batch && !ended()) advance();
}

DataState RowOrder::state(std::int64_t batch) const { return with_seed(seed_, {epoch_, batch}); }

std::int64_t RowOrder::restore(const DataState& state) {
  check_state(state, 4, where);
  seed_ = seed_in(state);
  begin(static_cast<int>(state[2]), state[3]);
  return state[3];
}

void RowOrder::shuffle_batches() {
  const auto number = static_cast<std::uint32_t>(epoch_);
  shuffled_order(batch_order_, seed_, number);
  // Epochs count from 0, so no epoch uses the complement as its substream.
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

std::int64_t RowOrder::rows() const {
  // Shuffled batches keep their size, so the partial one may be at any position.
  const std::int64_t first =
      shuffle_ == Shuffle::batch ? batch_order_[static_cast<std::size_t>(batch_)] * batch_size_ : sample_;
  return std::min(batch_size_, samples_ - first);
}

void RowOrder::advance() {
  sample_ += rows();
  ++batch_;
}

}  // namespace etude
