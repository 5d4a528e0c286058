#include "etude/data/detail/sequence_adapter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr const char* where = "Sequence";

SequencePtr checked(SequencePtr sequence, const SequenceOptions& options) {
  check(sequence != nullptr, ErrorKind::value, where, "no sequence - expected a Sequence of batches - pass one.");
  check(options.workers >= 0, ErrorKind::value, where, "workers = ", options.workers,
        " - expected 0 or more - 0 and 1 make batches on the caller's thread.");
  check(options.max_queue_size >= 1, ErrorKind::value, where, "max_queue_size = ", options.max_queue_size,
        " - expected 1 or more - set the number of batches in advance.");
  return sequence;
}

}  // namespace

SequenceAdapter::SequenceAdapter(SequencePtr sequence, const SequenceOptions& options)
    : AwaitedAdapter(where),
      sequence_(checked(std::move(sequence), options)),
      options_(options),
      queue_([this](std::int64_t number) { return make(number); }, options.workers > 1 ? options.workers : 0,
             options.max_queue_size) {
  begin(0, 0);
}

void SequenceAdapter::begin_epoch(int epoch) {
  if (epoch == epoch_ && consumed() == 0) return;  // the batch of peek() is not made twice
  begin(epoch, 0);
}

void SequenceAdapter::restore(const DataState& state) {
  check_state(state, 4, where);
  options_.seed = seed_in(state);
  begin(static_cast<int>(state[2]), state[3]);
}

void SequenceAdapter::begin(int epoch, std::int64_t batch) {
  queue_.stop();
  asked_.clear();
  epoch_ = epoch;
  const std::int64_t size = sequence_->size();
  check(size >= 0, ErrorKind::value, where, "size() returned ", size,
        " - expected 0 or more - return the number of batches.");
  size_ = size;
  if (options_.shuffle) {
    const auto room = std::min<std::uint64_t>(order_.max_size(), std::numeric_limits<std::uint32_t>::max());
    check(static_cast<std::uint64_t>(size) <= room, ErrorKind::value, where, size, " batches to shuffle - expected ",
          room, " at most - pass shuffle = false.");
    order_.resize(static_cast<std::size_t>(size));
    shuffled_order(order_, options_.seed, static_cast<std::uint32_t>(epoch));
  }
  next_ = batch;
  if (!sequence_->asynchronous()) queue_.start(batch);
  rewind(batch);
}

void SequenceAdapter::on_epoch_end() {
  queue_.stop();
  asked_.clear();
  sequence_->on_epoch_end();
}

std::optional<Batch> SequenceAdapter::make(std::int64_t number) {
  if (number >= size_) return {};
  return sequence_->batch(index_of(number));
}

std::int64_t SequenceAdapter::index_of(std::int64_t number) const {
  return options_.shuffle ? order_[static_cast<std::size_t>(number)] : number;
}

Task<std::optional<Batch>> SequenceAdapter::next() {
  if (!sequence_->asynchronous()) co_return queue_.consume();
  ask();
  if (asked_.empty()) co_return std::nullopt;
  const std::unique_ptr<Asked> first = std::move(asked_.front());
  asked_.pop_front();
  if (PendingPtr pending = std::move(first->pending)) co_await std::move(pending);
  co_return std::move(first->batch);
}

void SequenceAdapter::ask() {
  const auto ahead = static_cast<std::size_t>(std::clamp<std::int64_t>(options_.workers, 1, options_.max_queue_size));
  while (asked_.size() < ahead && next_ < size_) {
    Asked& asked = *asked_.emplace_back(std::make_unique<Asked>());
    asked.pending = started(bring(asked, index_of(next_++)));
  }
}

Task<> SequenceAdapter::bring(Asked& asked, std::int64_t index) { asked.batch = co_await sequence_->fetch(index); }

}  // namespace etude
