#include "etude/data/detail/generator_adapter.hpp"

#include <array>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/detail/prefetch.hpp"

namespace etude {
namespace {

constexpr const char* where = "generator";

/// A C++ generator as a source, with or without its own thread.
class GeneratorSource : public BatchSource {
 public:
  GeneratorSource(Generator generator, int workers)
      : generator_(std::move(generator)),
        prefetcher_([this](std::size_t slot) { return (slots_[slot] = generator_()).has_value(); }, workers > 0) {}

  PendingPtr fetch() override {
    if (peeked_) prefetcher_.fetch();
    return nullptr;
  }

  std::optional<Batch> consume() override {
    // The first batch is that of peek(). The caller's thread makes it, without a second batch in advance.
    if (!std::exchange(peeked_, true)) return generator_();
    const std::optional<std::size_t> slot = prefetcher_.consume();
    return slot ? std::exchange(slots_[*slot], {}) : std::nullopt;
  }

 private:
  Generator generator_;
  bool peeked_ = false;
  std::array<std::optional<Batch>, Prefetcher::slots> slots_;
  Prefetcher prefetcher_;  // last: its thread uses all members above
};

std::unique_ptr<BatchSource> make_source(Generator generator, const GeneratorOptions& options) {
  check(static_cast<bool>(generator), ErrorKind::value, where,
        "no function - expected a function that returns batches - pass one.");
  check(options.workers >= 0, ErrorKind::value, where, "workers ", options.workers,
        " - expected 0 or more - 0 runs the generator on the caller's thread.");
  return std::make_unique<GeneratorSource>(std::move(generator), options.workers);
}

}  // namespace

GeneratorAdapter::GeneratorAdapter(Generator generator, const GeneratorOptions& options)
    : GeneratorAdapter(make_source(std::move(generator), options)) {
  check(peek() != nullptr, ErrorKind::data, where,
        "no batch at all - expected at least one - check the generator; replace an "
        "exhausted one by a new one.");
}

GeneratorAdapter::GeneratorAdapter(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {
  check(source_ != nullptr, ErrorKind::value, where, "no source - expected a source of batches - pass one.");
}

PendingPtr GeneratorAdapter::fetch() {
  if (to_skip_ > 0) return started(skip_batches());
  return peeked_ || ended_ ? nullptr : source_->fetch();
}

const Batch* GeneratorAdapter::consume() {
  catch_up();
  consumed_ = peeked_ ? std::exchange(peeked_, {}) : next();
  if (!consumed_) return nullptr;
  ++count_;
  return &*consumed_;
}

void GeneratorAdapter::restore(const DataState& state) {
  check_state(state, 1, where);
  check(state[0] >= count_, ErrorKind::state, where, count_, " batches were consumed - expected at most ", state[0],
        ", because a generator cannot go back - create a new generator.");
  to_skip_ += state[0] - count_;
  count_ = state[0];
}

Task<> GeneratorAdapter::skip_batches() {
  while (to_skip_ > 0) {
    if (!peeked_ && !ended_)
      if (PendingPtr pending = source_->fetch()) co_await std::move(pending);
    const bool came = (peeked_ ? std::exchange(peeked_, {}) : next()).has_value();
    check(came, ErrorKind::data, where, to_skip_, " of ", count_,
          " earlier batches are missing - expected as many as before - create the generator as before.");
    --to_skip_;
  }
  if (!ended_)
    if (PendingPtr pending = source_->fetch()) co_await std::move(pending);
}

void GeneratorAdapter::catch_up() {
  if (to_skip_ > 0) skip_batches().get();
}

const Batch* GeneratorAdapter::peek() {
  catch_up();
  if (!peeked_) peeked_ = next();
  return peeked_ ? &*peeked_ : nullptr;
}

std::optional<Batch> GeneratorAdapter::next() {
  if (ended_) return {};
  ended_ = true;  // unless no exception follows
  std::optional<Batch> batch = source_->consume();
  if (!batch) return {};
  structure_.admit(*batch, where);
  ended_ = false;
  return batch;
}

}  // namespace etude
