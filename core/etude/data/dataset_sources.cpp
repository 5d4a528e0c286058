#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/dataset_stages.hpp"
#include "etude/data/detail/element.hpp"

namespace etude::stages {
namespace {

/// Elements with random access: a source has `element(number)`.
template <class Source> class NumberedIterator : public ElementIterator {
 public:
  explicit NumberedIterator(const Source& source) : source_(source) {}

  Task<std::optional<Batch>> next() override {
    if (number_ == source_.cardinality()) co_return std::nullopt;
    co_return co_await source_.element(number_++);
  }
  Task<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t skipped = std::min(count, source_.cardinality() - number_);
    number_ += skipped;
    co_return skipped;
  }

 private:
  const Source& source_;
  std::int64_t number_ = 0;
};

class Slices : public DatasetNode {
 public:
  explicit Slices(Batch arrays) : arrays_(std::move(arrays)) {}
  std::int64_t cardinality() const override { return arrays_.size(); }
  bool asynchronous() const override { return false; }
  ElementIteratorPtr iterate(std::uint64_t) const override { return std::make_unique<NumberedIterator<Slices>>(*this); }
  Task<Batch> element(std::int64_t number) const { co_return row_of(arrays_, number); }

 private:
  Batch arrays_;
};

class ArrayLikes : public DatasetNode {
 public:
  using Group = std::vector<ArrayLikePtr>;

  ArrayLikes(Group x, Group y, Group sample_weight) : groups_{std::move(x), std::move(y), std::move(sample_weight)} {
    constexpr const char* where = "Dataset.from_array_likes";
    check(!groups_[0].empty(), ErrorKind::data, where, "no x - expected one array per model input - pass the inputs.");
    for (const Group& group : groups_)
      for (const ArrayLikePtr& array : group) {
        check_array_like(array, where);
        check(array->rows() == cardinality(), ErrorKind::data, where, "Data cardinality is ambiguous: ", array->rows(),
              " and ", cardinality(), " rows - expected the same number in all arrays - check the data.");
      }
  }

  std::int64_t cardinality() const override { return groups_[0].front()->rows(); }
  bool asynchronous() const override {
    return std::ranges::any_of(groups_, [](const Group& group) {
      return std::ranges::any_of(group, [](const ArrayLikePtr& array) { return array->asynchronous(); });
    });
  }
  ElementIteratorPtr iterate(std::uint64_t) const override {
    return std::make_unique<NumberedIterator<ArrayLikes>>(*this);
  }
  Task<Batch> element(std::int64_t number) const {
    Batch result;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (const ArrayLikePtr& array : groups_[i]) {
        Tensor row(array->shape().without(0), array->dtype());
        co_await array->fetch({&number, 1}, row.raw());
        (result.*members[i]).push_back(std::move(row));
      }
    for (const ArrayLikePtr& array : groups_[0]) {
      const Tensor mask = array->mask_of({&number, 1});
      result.mask.push_back(mask ? mask.reshape(mask.shape().without(0)) : Tensor());
    }
    if (std::ranges::none_of(result.mask, [](const Tensor& mask) { return static_cast<bool>(mask); }))
      result.mask.clear();
    co_return result;
  }

 private:
  static constexpr std::array members{&Batch::x, &Batch::y, &Batch::sample_weight};
  std::array<Group, 3> groups_;
};

class Range : public DatasetNode {
 public:
  Range(std::int64_t begin, std::int64_t end, std::int64_t step) : begin_(begin), step_(step) {
    if (step > 0 ? begin >= end : begin <= end) return;
    // Modulo 2^64, so that differences of int64 do not overflow.
    const auto first = static_cast<std::uint64_t>(begin), last = static_cast<std::uint64_t>(end);
    const auto stride = static_cast<std::uint64_t>(step);
    const std::uint64_t steps = step > 0 ? (last - first - 1) / stride : (first - last - 1) / (0 - stride);
    const auto final = static_cast<std::int64_t>(first + steps * stride);
    check(is_int32(begin) && is_int32(final), ErrorKind::value, "Dataset.range", "numbers from ", begin, " to ", final,
          " - expected the range of int32 - begin at 0, and add an offset by map().");
    count_ = static_cast<std::int64_t>(steps) + 1;
  }
  std::int64_t cardinality() const override { return count_; }
  bool asynchronous() const override { return false; }
  ElementIteratorPtr iterate(std::uint64_t) const override { return std::make_unique<NumberedIterator<Range>>(*this); }
  Task<Batch> element(std::int64_t number) const {
    co_return Batch{
        {Tensor::from<std::int32_t>(Shape{}, {static_cast<std::int32_t>(begin_ + number * step_)})}, {}, {}};
  }

 private:
  static bool is_int32(std::int64_t number) { return number == static_cast<std::int32_t>(number); }

  std::int64_t begin_, step_, count_ = 0;
};

class SourceIterator : public ElementIterator {
 public:
  explicit SourceIterator(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {
    check(source_ != nullptr, ErrorKind::value, "Dataset", "no source - expected a source of elements - pass one.");
  }
  Task<std::optional<Batch>> next() override {
    if (ended_) co_return std::nullopt;
    ended_ = true;  // unless no exception follows
    if (PendingPtr pending = source_->fetch()) co_await std::move(pending);
    std::optional<Batch> element = source_->consume();
    ended_ = !element;
    co_return element;
  }

 private:
  std::unique_ptr<BatchSource> source_;
  bool ended_ = false;
};

class Sources : public DatasetNode {
 public:
  Sources(std::function<std::unique_ptr<BatchSource>()> make, bool asynchronous)
      : make_(std::move(make)), asynchronous_(asynchronous) {}
  std::int64_t cardinality() const override { return Dataset::unknown; }
  bool asynchronous() const override { return asynchronous_; }
  ElementIteratorPtr iterate(std::uint64_t) const override { return std::make_unique<SourceIterator>(make_()); }

 private:
  std::function<std::unique_ptr<BatchSource>()> make_;
  bool asynchronous_;
};

}  // namespace

DatasetNodePtr slices(Batch arrays) { return std::make_shared<Slices>(std::move(arrays)); }
DatasetNodePtr array_likes(std::vector<ArrayLikePtr> x, std::vector<ArrayLikePtr> y,
                           std::vector<ArrayLikePtr> sample_weight) {
  return std::make_shared<ArrayLikes>(std::move(x), std::move(y), std::move(sample_weight));
}
DatasetNodePtr sources(std::function<std::unique_ptr<BatchSource>()> make, bool asynchronous) {
  return std::make_shared<Sources>(std::move(make), asynchronous);
}
DatasetNodePtr range(std::int64_t begin, std::int64_t end, std::int64_t step) {
  return std::make_shared<Range>(begin, end, step);
}

}  // namespace etude::stages
