#include "etude/data/generator_adapter.hpp"

#include <array>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/prefetch.hpp"

namespace etude {
namespace {

constexpr const char* where = "generator";

/// A C++ generator as a source, with or without a thread of its own.
class GeneratorSource : public BatchSource {
 public:
  GeneratorSource(Generator generator, int workers)
      : generator_(std::move(generator)),
        prefetcher_([this](std::size_t slot) { return (slots_[slot] = generator_()).has_value(); }, workers > 0) {}

  PendingPtr fetch() override {
    if (peeked_) prefetcher_.fetch();
    return nullptr;
  }

  std::optional<Batch> take() override {
    // The first batch is the peek: by the caller's thread, and no second batch is made for it.
    if (!std::exchange(peeked_, true)) return generator_();
    const std::optional<std::size_t> slot = prefetcher_.take();
    return slot ? std::exchange(slots_[*slot], {}) : std::nullopt;
  }

 private:
  Generator generator_;
  bool peeked_ = false;
  std::array<std::optional<Batch>, Prefetcher::slots> slots_;
  Prefetcher prefetcher_;  // last: its thread uses all of the above
};

std::unique_ptr<BatchSource> make_source(Generator generator, const GeneratorOptions& options) {
  check(static_cast<bool>(generator), ErrorKind::value, where,
        "no function - expected one that gives batches - pass it.");
  check(options.workers >= 0, ErrorKind::value, where, "workers ", options.workers,
        " - expected 0 or more - 0 runs the generator on the caller's thread.");
  return std::make_unique<GeneratorSource>(std::move(generator), options.workers);
}

}  // namespace

GeneratorAdapter::GeneratorAdapter(Generator generator, const GeneratorOptions& options)
    : GeneratorAdapter(make_source(std::move(generator), options)) {
  check(peek() != nullptr, ErrorKind::data, where,
        "no batch at all - expected at least one - check the generator; one that "
        "was used up must be made anew.");
}

GeneratorAdapter::GeneratorAdapter(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {
  check(source_ != nullptr, ErrorKind::value, where, "no source - expected one that gives batches - pass it.");
}

PendingPtr GeneratorAdapter::fetch() { return peeked_ || ended_ ? nullptr : source_->fetch(); }

const Batch* GeneratorAdapter::take() {
  taken_ = peeked_ ? std::exchange(peeked_, {}) : next();
  return taken_ ? &*taken_ : nullptr;
}

const Batch* GeneratorAdapter::peek() {
  if (!peeked_) peeked_ = next();
  return peeked_ ? &*peeked_ : nullptr;
}

std::optional<Batch> GeneratorAdapter::next() {
  if (ended_) return {};
  ended_ = true;  // unless all goes well
  std::optional<Batch> batch = source_->take();
  if (!batch) return {};
  structure_.admit(*batch, where);
  ended_ = false;
  return batch;
}

}  // namespace etude
