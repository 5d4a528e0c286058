#include <algorithm>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/dataset_stages.hpp"
#include "etude/data/detail/element.hpp"

namespace etude::stages {
namespace {

bool any_asynchronous(const std::vector<DatasetNodePtr>& nodes) {
  return std::ranges::any_of(nodes, [](const DatasetNodePtr& node) { return node->asynchronous(); });
}

class ZipIterator : public ElementIterator {
 public:
  explicit ZipIterator(std::vector<ElementIteratorPtr> inputs) : inputs_(std::move(inputs)) {}

  Task<std::optional<Batch>> next() override {
    std::vector<Batch> parts;
    for (const ElementIteratorPtr& input : inputs_) {
      std::optional<Batch> part = co_await input->next();
      if (!part) co_return std::nullopt;
      parts.push_back(std::move(*part));
    }
    co_return joined(parts);
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    std::int64_t least = count;
    for (const ElementIteratorPtr& input : inputs_) {
      const std::int64_t skipped = co_await input->skip(least);
      least = std::min(least, skipped);
    }
    co_return least;
  }

 private:
  std::vector<ElementIteratorPtr> inputs_;
};

struct Zip : DatasetNode {
  std::vector<DatasetNodePtr> inputs;

  explicit Zip(std::vector<DatasetNodePtr> i) : inputs(std::move(i)) {}
  std::int64_t cardinality() const override {
    std::int64_t least = Dataset::infinite;
    for (const DatasetNodePtr& input : inputs) {
      const std::int64_t elements = input->cardinality();
      if (elements == Dataset::unknown) return elements;
      if (elements != Dataset::infinite && (least == Dataset::infinite || elements < least)) least = elements;
    }
    return least;
  }
  bool asynchronous() const override { return any_asynchronous(inputs); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    std::vector<ElementIteratorPtr> iterators;
    for (const DatasetNodePtr& input : inputs) iterators.push_back(input->iterate(iteration));
    return std::make_unique<ZipIterator>(std::move(iterators));
  }
};

class ConcatenateIterator : public ElementIterator {
 public:
  ConcatenateIterator(ElementIteratorPtr first, ElementIteratorPtr second)
      : first_(std::move(first)), second_(std::move(second)) {}

  Task<std::optional<Batch>> next() override {
    if (first_) {
      std::optional<Batch> element = co_await first_->next();
      if (element) co_return element;
      first_ = nullptr;
    }
    co_return co_await second_->next();
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    if (first_) {
      skipped = co_await first_->skip(count);
      if (skipped == count) co_return count;
      first_ = nullptr;
    }
    const std::int64_t rest = co_await second_->skip(count - skipped);
    co_return skipped + rest;
  }

 private:
  ElementIteratorPtr first_, second_;
};

struct Concatenated : DatasetNode {
  DatasetNodePtr first, second;

  Concatenated(DatasetNodePtr f, DatasetNodePtr s) : first(std::move(f)), second(std::move(s)) {}
  std::int64_t cardinality() const override {
    const std::int64_t a = first->cardinality(), b = second->cardinality();
    if (a == Dataset::infinite || b == Dataset::infinite) return Dataset::infinite;
    return a == Dataset::unknown || b == Dataset::unknown ? Dataset::unknown
                                                          : checked::add(a, b, "Dataset.concatenate");
  }
  bool asynchronous() const override { return first->asynchronous() || second->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<ConcatenateIterator>(first->iterate(iteration_of_input(iteration, 0)),
                                                 second->iterate(iteration_of_input(iteration, 1)));
  }
};

struct Interleave : DatasetNode {
  DatasetNodePtr input;
  Dataset::AsyncExpand function;
  std::int64_t cycle_length, block_length;
  bool waits;

  Interleave(DatasetNodePtr i, Dataset::AsyncExpand f, std::int64_t c, std::int64_t b, bool w)
      : input(std::move(i)), function(std::move(f)), cycle_length(c), block_length(b), waits(w) {}
  std::int64_t cardinality() const override { return input->cardinality() == 0 ? 0 : Dataset::unknown; }
  bool asynchronous() const override { return waits || input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override;
};

/// Source: InterleaveDataset in tensorflow/core/kernels/data/interleave_dataset_op.cc. The order of elements is the
/// same.
class InterleaveIterator : public ElementIterator {
 public:
  InterleaveIterator(const Interleave& node, std::uint64_t iteration)
      : node_(node), iteration_(iteration), depth_(depth_of_next), input_(node.input->iterate(iteration)) {
    constexpr int most = 1000;
    check(depth_ < most, ErrorKind::value, "Dataset.interleave", "datasets within ", most,
          " others - expected fewer - let the function not return the dataset that it is called by.");
  }

  Task<std::optional<Batch>> next() override {
    while (!ended_ || open_count_ > 0) {
      if (place_ == std::ssize(open_)) open_.emplace_back();
      Open& open = open_[static_cast<std::size_t>(place_)];
      if (!open.elements) {
        co_await open_next(open);
        continue;
      }
      std::optional<Batch> element = co_await open.elements->next();
      if (element) {
        if (++in_block_ == node_.block_length) turn();
        co_return element;
      }
      open = {};
      --open_count_;
      turn();
    }
    co_return std::nullopt;
  }

 private:
  /// A dataset, and the position of its iteration.
  struct Open {
    std::optional<Dataset> dataset;
    ElementIteratorPtr elements;
  };

  Task<> open_next(Open& open) {
    std::optional<Batch> element;
    if (!ended_) element = co_await input_->next();
    if (!element) {
      ended_ = true;
      turn();
      co_return;
    }
    Dataset dataset = co_await node_.function(std::move(*element));
    open.elements = inner_iterator(*dataset.node());
    open.dataset = std::move(dataset);
    ++open_count_;
  }
  ElementIteratorPtr inner_iterator(const DatasetNode& dataset) {
    struct Scope {
      explicit Scope(int depth) : outer(std::exchange(depth_of_next, depth)) {}
      ~Scope() { depth_of_next = outer; }
      int outer;
    } const scope(depth_ + 1);
    return dataset.iterate(iteration_of_input(iteration_, opened_++));
  }
  /// After the end of the input, places without a dataset stay empty.
  void turn() {
    in_block_ = 0;
    ++place_;
    if (place_ == (ended_ ? std::ssize(open_) : node_.cycle_length)) place_ = 0;
  }

  static inline thread_local int depth_of_next = 0;

  const Interleave& node_;
  std::uint64_t iteration_;
  int depth_;  // the number of iterators of this class that this one is within
  ElementIteratorPtr input_;
  std::vector<Open> open_;  // up to cycle_length of them
  std::int64_t place_ = 0, in_block_ = 0, open_count_ = 0, opened_ = 0;
  bool ended_ = false;
};

ElementIteratorPtr Interleave::iterate(std::uint64_t iteration) const {
  return std::make_unique<InterleaveIterator>(*this, iteration);
}

}  // namespace

DatasetNodePtr zip(std::vector<DatasetNodePtr> inputs) { return std::make_shared<Zip>(std::move(inputs)); }
DatasetNodePtr concatenate(DatasetNodePtr first, DatasetNodePtr second) {
  return std::make_shared<Concatenated>(std::move(first), std::move(second));
}
DatasetNodePtr interleave(DatasetNodePtr input, Dataset::AsyncExpand function, std::int64_t cycle_length,
                          std::int64_t block_length, bool asynchronous) {
  return std::make_shared<Interleave>(std::move(input), std::move(function), cycle_length, block_length, asynchronous);
}

}  // namespace etude::stages
