#include <algorithm>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/dataset_stages.hpp"

namespace etude::stages {
namespace {

struct Repeat : DatasetNode {
  DatasetNodePtr input;
  std::int64_t count;

  Repeat(DatasetNodePtr i, std::int64_t c) : input(std::move(i)), count(c) {}
  std::int64_t cardinality() const override {
    const std::int64_t elements = input->cardinality();
    if (elements == 0 || count == 0) return 0;
    if (count < 0) return Dataset::infinite;
    return elements < 0 ? elements : checked::multiply(count, elements, "Dataset.repeat");
  }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override;
};

class RepeatIterator : public ElementIterator {
 public:
  RepeatIterator(const Repeat& repeat, std::uint64_t iteration)
      : repeat_(repeat),
        iteration_(iteration * (repeat.count < 0 ? endless : static_cast<std::uint64_t>(repeat.count))),
        each_(repeat.input->cardinality()) {}

  Task<std::optional<Batch>> next() override {
    while (enter_pass()) {
      std::optional<Batch> element = co_await input_->next();
      if (element) {
        ++in_pass_;
        co_return element;
      }
      leave_pass();
    }
    co_return std::nullopt;
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    while (skipped < count && more_passes()) {
      if (in_pass_ == 0 && each_ > 0 && count - skipped >= each_) {
        const std::int64_t passes = (count - skipped) / each_;  // skips whole passes
        const std::int64_t left = repeat_.count < 0 ? passes : std::min(passes, repeat_.count - pass_);
        pass_ += left;
        input_ = nullptr;
        skipped += left * each_;
        continue;
      }
      enter_pass();
      const std::int64_t wanted = count - skipped;
      const std::int64_t here = co_await input_->skip(wanted);
      in_pass_ += here;
      skipped += here;
      if (here < wanted) leave_pass();
    }
    co_return skipped;
  }

 private:
  bool more_passes() const { return !ended_ && (repeat_.count < 0 || pass_ < repeat_.count); }
  bool enter_pass() {
    if (!more_passes()) return false;
    if (!input_) input_ = repeat_.input->iterate(iteration_ + static_cast<std::uint64_t>(pass_));
    return true;
  }
  void leave_pass() {
    ended_ = in_pass_ == 0;  // an empty dataset would repeat without end
    ++pass_;
    in_pass_ = 0;
    input_ = nullptr;
  }

  /// The distance between the first passes of two iterations, in place of a number of passes. It is odd and far from
  /// multiples of 2^32, modulo which shuffles count.
  static constexpr std::uint64_t endless = 0x9e3779b97f4a7c15;

  const Repeat& repeat_;
  std::uint64_t iteration_;
  std::int64_t each_, pass_ = 0, in_pass_ = 0;
  bool ended_ = false;
  ElementIteratorPtr input_;
};

ElementIteratorPtr Repeat::iterate(std::uint64_t iteration) const {
  return std::make_unique<RepeatIterator>(*this, iteration);
}

class TakeIterator : public ElementIterator {
 public:
  TakeIterator(ElementIteratorPtr input, std::int64_t count) : input_(std::move(input)), left_(count) {}
  Task<std::optional<Batch>> next() override {
    if (left_ == 0) co_return std::nullopt;
    --left_;
    co_return co_await input_->next();
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t skipped = co_await input_->skip(std::min(count, left_));
    left_ -= skipped;
    co_return skipped;
  }

 private:
  ElementIteratorPtr input_;
  std::int64_t left_;
};

struct Take : DatasetNode {
  DatasetNodePtr input;
  std::int64_t count;

  Take(DatasetNodePtr i, std::int64_t c) : input(std::move(i)), count(c) {}
  std::int64_t cardinality() const override {
    const std::int64_t elements = input->cardinality();
    if (elements == Dataset::unknown) return count == 0 ? 0 : elements;
    return elements == Dataset::infinite ? count : std::min(count, elements);
  }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<TakeIterator>(input->iterate(iteration), count);
  }
};

/// Every `stride`-th element from `first` on; skip and shard use it.
class StrideIterator : public ElementIterator {
 public:
  StrideIterator(ElementIteratorPtr input, std::int64_t first, std::int64_t stride)
      : input_(std::move(input)), gap_(first), stride_(stride) {}
  Task<std::optional<Batch>> next() override {
    const std::int64_t gap = std::exchange(gap_, stride_ - 1);
    if (gap > 0) {
      const std::int64_t skipped = co_await input_->skip(gap);
      if (skipped < gap) co_return std::nullopt;
    }
    co_return co_await input_->next();
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    if (count == 0) co_return 0;
    const std::int64_t gap = std::exchange(gap_, stride_ - 1);
    const std::int64_t between = checked::multiply_or_most(count - 1, stride_);
    const std::int64_t skipped = co_await input_->skip(checked::add_or_most(between, checked::add_or_most(gap, 1)));
    co_return skipped <= gap ? 0 : (skipped - gap - 1) / stride_ + 1;
  }

 private:
  ElementIteratorPtr input_;
  std::int64_t gap_, stride_;
};

struct Stride : DatasetNode {
  DatasetNodePtr input;
  std::int64_t first, stride;

  Stride(DatasetNodePtr i, std::int64_t f, std::int64_t s) : input(std::move(i)), first(f), stride(s) {}
  std::int64_t cardinality() const override {
    const std::int64_t elements = input->cardinality();
    return elements < 0 ? elements : elements <= first ? 0 : (elements - first - 1) / stride + 1;
  }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<StrideIterator>(input->iterate(iteration), first, stride);
  }
};

}  // namespace

DatasetNodePtr repeat(DatasetNodePtr input, std::int64_t count) {
  return std::make_shared<Repeat>(std::move(input), count);
}
DatasetNodePtr take(DatasetNodePtr input, std::int64_t count) {
  return std::make_shared<Take>(std::move(input), count);
}
DatasetNodePtr skip(DatasetNodePtr input, std::int64_t count) {
  return std::make_shared<Stride>(std::move(input), count, 1);
}
DatasetNodePtr shard(DatasetNodePtr input, std::int64_t num_shards, std::int64_t index) {
  return std::make_shared<Stride>(std::move(input), index, num_shards);
}

}  // namespace etude::stages
