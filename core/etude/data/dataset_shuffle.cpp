#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/dataset_stages.hpp"

namespace etude::stages {
namespace {

/// A buffer from which elements are drawn, and which is refilled. The drawn positions depend only on the number of
/// elements, so they can be replayed on element numbers alone: of the earlier elements, a restored iterator reads only
/// those that are still in the buffer.
class ShuffleIterator : public ElementIterator {
 public:
  ShuffleIterator(ElementIteratorPtr input, std::int64_t elements, std::int64_t buffer_size, Random random)
      : input_(std::move(input)),
        elements_(elements),
        buffer_size_(static_cast<std::size_t>(buffer_size)),
        random_(random) {}

  Task<std::optional<Batch>> next() override {
    while (!ended_ && buffer_.size() < buffer_size_) {
      std::optional<Batch> element = co_await input_->next();
      begun_ = true;
      if (element)
        buffer_.push_back(std::move(*element));
      else
        ended_ = true;
    }
    if (buffer_.empty()) co_return std::nullopt;
    co_return drawn(buffer_);
  }

  Task<std::int64_t> skip(std::int64_t count) override {
    if (begun_ || elements_ == Dataset::unknown) co_return co_await ElementIterator::skip(count);
    begun_ = true;
    std::vector<std::int64_t> numbers;
    std::int64_t read = 0, skipped = 0;
    for (; skipped < count; ++skipped) {
      for (; numbers.size() < buffer_size_ && read != elements_; ++read) numbers.push_back(read);
      if (numbers.empty()) break;
      drawn(numbers);
    }
    co_await read_again(numbers, read);
    co_return skipped;
  }

 private:
  template <class T> T drawn(std::vector<T>& from) {
    std::swap(from[random_.below(static_cast<std::uint32_t>(from.size()))], from.back());
    T result = std::move(from.back());
    from.pop_back();
    return result;
  }

  /// Fills the buffer with the elements of these numbers, out of the first `read` elements.
  Task<> read_again(const std::vector<std::int64_t>& numbers, std::int64_t read) {
    std::vector<std::size_t> places(numbers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t place) { return numbers[place]; });
    buffer_.resize(numbers.size());
    std::int64_t at = 0;
    for (const std::size_t place : places) {
      const std::int64_t skipped = co_await input_->skip(numbers[place] - at);
      std::optional<Batch> element = co_await input_->next();
      at += skipped + 1;
      check(element && at == numbers[place] + 1, ErrorKind::data, "Dataset.shuffle", "fewer elements than the ",
            elements_, " that were declared - expected all of them - check assert_cardinality.");
      buffer_[place] = std::move(*element);
    }
    co_await input_->skip(read - at);
  }

  ElementIteratorPtr input_;
  std::int64_t elements_;
  std::size_t buffer_size_;
  Random random_;
  std::vector<Batch> buffer_;
  bool begun_ = false, ended_ = false;
};

struct Shuffled : DatasetNode {
  DatasetNodePtr input;
  std::int64_t buffer_size;
  std::uint64_t seed;
  bool reshuffle_each_iteration;

  Shuffled(DatasetNodePtr i, std::int64_t b, std::uint64_t s, bool r)
      : input(std::move(i)), buffer_size(b), seed(s), reshuffle_each_iteration(r) {}
  std::int64_t cardinality() const override { return input->cardinality(); }
  bool asynchronous() const override { return input->asynchronous(); }
  ElementIteratorPtr iterate(std::uint64_t iteration) const override {
    const auto order = static_cast<std::uint32_t>(reshuffle_each_iteration ? iteration : 0);
    return std::make_unique<ShuffleIterator>(input->iterate(iteration), input->cardinality(), buffer_size,
                                             Random(seed, RandomStream::shuffle, order));
  }
};

}  // namespace

DatasetNodePtr shuffle(DatasetNodePtr input, std::int64_t buffer_size, std::uint64_t seed,
                       bool reshuffle_each_iteration) {
  check(buffer_size <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::value, "Dataset.shuffle",
        "buffer_size = ", buffer_size, " - expected fewer than 2^32 - choose a smaller one.");
  return std::make_shared<Shuffled>(std::move(input), buffer_size, seed, reshuffle_each_iteration);
}

}  // namespace etude::stages
