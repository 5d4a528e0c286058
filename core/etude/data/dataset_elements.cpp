#include <algorithm>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/dataset_stages.hpp"
#include "etude/data/detail/element.hpp"

namespace etude::stages {
namespace {

class MapIterator : public ElementIterator {
 public:
  MapIterator(ElementIteratorPtr input, const Dataset::AsyncMap& function)
      : input_(std::move(input)), function_(function) {}
  Task<std::optional<Batch>> next() override {
    std::optional<Batch> element = co_await input_->next();
    if (element) element = co_await function_(std::move(*element));
    co_return element;
  }
  Task<std::int64_t> skip(std::int64_t count) override { return input_->skip(count); }

 private:
  ElementIteratorPtr input_;
  const Dataset::AsyncMap& function_;
};

struct Map : DatasetNode {
  DatasetNodePtr input;
  Dataset::AsyncMap function;
  bool waits;

  Map(DatasetNodePtr i, Dataset::AsyncMap f, bool w) : input(std::move(i)), function(std::move(f)), waits(w) {}
  std::int64_t cardinality() const override { return input->cardinality(); }
  bool asynchronous() const override { return waits || input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<MapIterator>(input->iterate(iteration), function);
  }
};

class FilterIterator : public ElementIterator {
 public:
  FilterIterator(ElementIteratorPtr input, const Dataset::AsyncPredicate& predicate)
      : input_(std::move(input)), predicate_(predicate) {}
  Task<std::optional<Batch>> next() override {
    for (;;) {
      std::optional<Batch> element = co_await input_->next();
      if (!element) co_return std::nullopt;
      const bool wanted = co_await predicate_(*element);
      if (wanted) co_return element;
    }
  }

 private:
  ElementIteratorPtr input_;
  const Dataset::AsyncPredicate& predicate_;
};

struct Filter : DatasetNode {
  DatasetNodePtr input;
  Dataset::AsyncPredicate predicate;
  bool waits;

  Filter(DatasetNodePtr i, Dataset::AsyncPredicate p, bool w)
      : input(std::move(i)), predicate(std::move(p)), waits(w) {}
  std::int64_t cardinality() const override { return input->cardinality() == 0 ? 0 : Dataset::unknown; }
  bool asynchronous() const override { return waits || input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<FilterIterator>(input->iterate(iteration), predicate);
  }
};

class BatchIterator : public ElementIterator {
 public:
  BatchIterator(ElementIteratorPtr input, std::int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  Task<std::optional<Batch>> next() override {
    elements_.clear();
    while (static_cast<std::int64_t>(elements_.size()) < size_) {
      std::optional<Batch> element = co_await input_->next();
      if (!element) break;
      elements_.push_back(std::move(*element));
    }
    const bool whole = static_cast<std::int64_t>(elements_.size()) == size_;
    if (elements_.empty() || (drop_remainder_ && !whole)) co_return std::nullopt;
    co_return stacked(elements_);
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t skipped = co_await input_->skip(checked::multiply_or_most(count, size_));
    co_return skipped / size_ + (skipped % size_ && !drop_remainder_ ? 1 : 0);
  }

 private:
  ElementIteratorPtr input_;
  std::int64_t size_;
  bool drop_remainder_;
  std::vector<Batch> elements_;
};

struct Batches : DatasetNode {
  DatasetNodePtr input;
  std::int64_t size;
  bool drop_remainder;

  Batches(DatasetNodePtr i, std::int64_t s, bool d) : input(std::move(i)), size(s), drop_remainder(d) {}
  std::int64_t cardinality() const override {
    const std::int64_t elements = input->cardinality();
    return elements < 0 ? elements : elements / size + (elements % size && !drop_remainder ? 1 : 0);
  }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<BatchIterator>(input->iterate(iteration), size, drop_remainder);
  }
};

class UnbatchIterator : public ElementIterator {
 public:
  explicit UnbatchIterator(ElementIteratorPtr input) : input_(std::move(input)) {}

  Task<std::optional<Batch>> next() override {
    while (!rows_ || row_ == rows_->size()) {
      rows_ = co_await input_->next();
      row_ = 0;
      if (!rows_) co_return std::nullopt;
      check_cardinality(*rows_, "Dataset.unbatch");
    }
    co_return row_of(*rows_, row_++);
  }

 private:
  ElementIteratorPtr input_;
  std::optional<Batch> rows_;
  std::int64_t row_ = 0;
};

struct Unbatched : DatasetNode {
  DatasetNodePtr input;

  explicit Unbatched(DatasetNodePtr i) : input(std::move(i)) {}
  std::int64_t cardinality() const override {
    return input->cardinality() > 0 ? std::int64_t{Dataset::unknown} : input->cardinality();
  }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    return std::make_unique<UnbatchIterator>(input->iterate(iteration));
  }
};

struct AssertedCardinality : DatasetNode {
  DatasetNodePtr input;
  std::int64_t asserted;

  AssertedCardinality(DatasetNodePtr i, std::int64_t a) : input(std::move(i)), asserted(a) {}
  std::int64_t cardinality() const override { return asserted; }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override { return input->iterate(iteration); }
};

}  // namespace

DatasetNodePtr map(DatasetNodePtr input, Dataset::AsyncMap function, bool asynchronous) {
  return std::make_shared<Map>(std::move(input), std::move(function), asynchronous);
}
DatasetNodePtr filter(DatasetNodePtr input, Dataset::AsyncPredicate predicate, bool asynchronous) {
  return std::make_shared<Filter>(std::move(input), std::move(predicate), asynchronous);
}
DatasetNodePtr batch(DatasetNodePtr input, std::int64_t size, bool drop_remainder) {
  return std::make_shared<Batches>(std::move(input), size, drop_remainder);
}
DatasetNodePtr unbatch(DatasetNodePtr input) { return std::make_shared<Unbatched>(std::move(input)); }
DatasetNodePtr assert_cardinality(DatasetNodePtr input, std::int64_t cardinality) {
  return std::make_shared<AssertedCardinality>(std::move(input), cardinality);
}

}  // namespace etude::stages
