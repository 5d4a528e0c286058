#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "etude/data/detail/dataset_stages.hpp"
#include "etude/data/detail/ordered_queue.hpp"

namespace etude::stages {
namespace {

/// The cached elements of a dataset, shared by all its iterators.
class CacheStore {
 public:
  using Elements = std::shared_ptr<const std::vector<Batch>>;

  Elements elements() const {
    const std::lock_guard lock(mutex_);
    return elements_;
  }
  void keep(std::vector<Batch> elements) {
    const std::lock_guard lock(mutex_);
    if (!elements_) elements_ = std::make_shared<const std::vector<Batch>>(std::move(elements));
  }

 private:
  mutable std::mutex mutex_;
  Elements elements_;
};

/// Reads the cached elements, or caches the elements that it reads.
class CacheIterator : public ElementIterator {
 public:
  /// `count`: the number of elements if it is known, else negative.
  CacheIterator(ElementIteratorPtr input, std::int64_t count, std::shared_ptr<CacheStore> store)
      : input_(std::move(input)), count_(count), store_(std::move(store)), kept_(store_->elements()) {}

  Task<std::optional<Batch>> next() override {
    if (kept_) co_return at_ < kept_->size() ? std::optional((*kept_)[at_++]) : std::nullopt;
    std::optional<Batch> element;
    try {
      element = co_await input_->next();
    } catch (...) {
      failed_ = true;  // what comes after may be incomplete
      throw;
    }
    if (failed_) co_return element;
    if (element) seen_.push_back(*element);
    // A loop that knows the number of elements does not ask for one more.
    if (!element || std::ssize(seen_) == count_) finish();
    co_return element;
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    if (!kept_) co_return co_await ElementIterator::skip(count);
    const std::int64_t skipped = std::min(count, std::ssize(*kept_) - static_cast<std::int64_t>(at_));
    at_ += static_cast<std::size_t>(skipped);
    co_return skipped;
  }

 private:
  void finish() {
    at_ = seen_.size();
    store_->keep(std::move(seen_));
    kept_ = store_->elements();
  }

  ElementIteratorPtr input_;
  std::int64_t count_;
  std::shared_ptr<CacheStore> store_;
  CacheStore::Elements kept_;
  std::vector<Batch> seen_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct Cached : DatasetNode {
  DatasetNodePtr input;
  std::shared_ptr<CacheStore> store = std::make_shared<CacheStore>();

  explicit Cached(DatasetNodePtr i) : input(std::move(i)) {}
  std::int64_t cardinality() const override { return input->cardinality(); }
  bool asynchronous() const override { return input->asynchronous(); }
  /// It caches the first iteration, also if a fit is resumed in a later one.
  ElementIteratorPtr iterate(std::uint64_t) const override {
    return std::make_unique<CacheIterator>(input->iterate(0), input->cardinality(), store);
  }
};

/// Makes elements in advance on a thread.
class ThreadedPrefetch : public ElementIterator {
 public:
  ThreadedPrefetch(ElementIteratorPtr input, std::int64_t count)
      : input_(std::move(input)), queue_([this](std::int64_t) { return input_->next().get(); }, 1, count) {}

  Task<std::optional<Batch>> next() override {
    if (!std::exchange(begun_, true)) queue_.start(0);
    co_return queue_.consume();
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    return begun_ ? ElementIterator::skip(count) : input_->skip(count);
  }

 private:
  ElementIteratorPtr input_;
  bool begun_ = false;
  OrderedQueue queue_;  // last: its thread uses all members above
};

/// Makes awaited elements in advance: requests the next elements as soon as one is consumed, without waiting for them.
class AwaitedPrefetch : public ElementIterator {
 public:
  AwaitedPrefetch(ElementIteratorPtr input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  Task<std::optional<Batch>> next() override {
    if (made_.empty()) {
      wanted_ = true;  // one element suffices now
      if (!filling_) filling_ = started(fill());
      if (PendingPtr filling = std::move(filling_)) co_await std::move(filling);
      wanted_ = false;
    }
    if (made_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, {}));
      co_return std::nullopt;
    }
    std::optional<Batch> element = std::move(made_.front());
    made_.pop_front();
    if (!filling_ || filling_->ready()) filling_ = started(fill());
    co_return element;
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    return begun_ ? ElementIterator::skip(count) : input_->skip(count);
  }

 private:
  Task<> fill() {
    begun_ = true;
    while (!ended_ && std::ssize(made_) < (wanted_ ? 1 : count_)) {
      try {
        std::optional<Batch> element = co_await input_->next();
        ended_ = !element;
        if (element) made_.push_back(std::move(*element));
      } catch (...) {
        error_ = std::current_exception();  // earlier elements are returned first
        ended_ = true;
      }
    }
  }

  ElementIteratorPtr input_;
  std::int64_t count_;
  std::deque<Batch> made_;
  std::exception_ptr error_;
  bool begun_ = false, wanted_ = false, ended_ = false;
  PendingPtr filling_;  // last: it uses all members above
};

struct Prefetched : DatasetNode {
  DatasetNodePtr input;
  std::int64_t count;

  Prefetched(DatasetNodePtr i, std::int64_t c) : input(std::move(i)), count(c) {}
  std::int64_t cardinality() const override { return input->cardinality(); }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    if (asynchronous()) return std::make_unique<AwaitedPrefetch>(input->iterate(iteration), count);
    return std::make_unique<ThreadedPrefetch>(input->iterate(iteration), count);
  }
};

}  // namespace

DatasetNodePtr cache(DatasetNodePtr input) { return std::make_shared<Cached>(std::move(input)); }
DatasetNodePtr prefetch(DatasetNodePtr input, std::int64_t count) {
  return std::make_shared<Prefetched>(std::move(input), count);
}

}  // namespace etude::stages
