#include "etude/data/dataset.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "data_samples.hpp"
#include "etude/etude.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// The first number of every element.
Indices numbers_of(const Dataset& dataset, std::uint64_t iteration = 0) {
  DatasetIterator elements(dataset, iteration);
  Indices result;
  while (const std::optional<Batch> element = elements.next().get())
    result.push_back(static_cast<std::int64_t>(element->x[0].at(0)));
  return result;
}

/// The numbers of every element.
std::vector<Indices> lists_of(const Dataset& dataset) {
  std::vector<Indices> result;
  for (const Batch& element : dataset) {
    Indices list;
    for (std::int64_t i = 0; i < element.x[0].size(); ++i)
      list.push_back(static_cast<std::int64_t>(element.x[0].at(i)));
    result.push_back(list);
  }
  return result;
}

Batch scaled(Batch element, std::int32_t factor) {
  Tensor x = element.x[0].clone();
  for (std::int32_t& value : x.data<std::int32_t>()) value *= factor;
  element.x[0] = x;
  return element;
}

Batch tenfold(Batch element) { return scaled(std::move(element), 10); }
bool even(const Batch& element) { return static_cast<int>(element.x[0].at(0)) % 2 == 0; }

Dataset generated(int count) {
  return Dataset::from_generator([count] { return generator_of(count); });
}

}  // namespace

TEST_CASE("datasets: slices of arrays are their rows, without a copy", "[data]") {
  const Tensor x = counting(4, 2), y = counting(4, 1);
  int row = 0;
  for (const Batch& element : Dataset::from_tensor_slices({{x}, {y}, {}})) {
    CHECK(element.x[0].shape() == Shape{2});
    CHECK(element.x[0].raw() == x.rows(row, row + 1).raw());
    CHECK(element.y[0].at(0) == row);
    ++row;
  }
  CHECK(row == 4);
}

TEST_CASE("datasets: the mask of an input is in its elements, batches and zipped datasets", "[data]") {
  const Tensor mask = counting(4, 2, DType::int32), x = counting(4, 2);
  const Dataset rows = Dataset::from_tensor_slices({{x, x}, {}, {}, {Tensor(), mask}});
  const Batch element = *DatasetIterator(rows.skip(2)).next().get();
  REQUIRE(element.mask.size() == 2);
  CHECK_FALSE(element.mask[0]);
  CHECK(element.mask[1].shape() == Shape{2});
  CHECK(element.mask[1].at(1) == 5);
  const Dataset ways[] = {rows, rows.batch(3).unbatch(), Dataset::zip({rows, Dataset::range(4)})};
  for (const Dataset& way : ways) {
    const Batch batch = *DatasetIterator(way.batch(3)).next().get();
    REQUIRE(batch.mask.size() == 2);
    CHECK_FALSE(batch.mask[0]);
    CHECK(batch.mask[1].shape() == Shape{3, 2});
    CHECK(batch.mask[1].at(5) == 5);
  }
  const Dataset labelled = Dataset::from_tensor_slices({{x}, {x}, {}});
  const Batch both = *DatasetIterator(Dataset::zip({labelled, rows})).next().get();
  REQUIRE(both.mask.size() == 3);
  CHECK((!both.mask[0] && !both.mask[1] && both.mask[2]));
  CHECK_THROWS_WITH(
      DatasetIterator(rows.take(1).concatenate(Dataset::from_tensor_slices({{x, x}, {}, {}})).batch(5)).next().get(),
      ContainsSubstring("elements of different structure"));
}

TEST_CASE("datasets: the stages match those of tf.data", "[data]") {
  const Dataset six = Dataset::range(6);
  CHECK(numbers_of(six) == iota(6));
  CHECK(numbers_of(Dataset::range(5, -1, -2)) == Indices{5, 3, 1});
  CHECK(numbers_of(six.map(tenfold)) == Indices{0, 10, 20, 30, 40, 50});
  CHECK(numbers_of(six.filter(even)) == Indices{0, 2, 4});
  CHECK(lists_of(six.batch(4)) == std::vector<Indices>{{0, 1, 2, 3}, {4, 5}});
  CHECK(lists_of(six.batch(4, true)) == std::vector<Indices>{{0, 1, 2, 3}});
  CHECK(numbers_of(six.batch(4).unbatch()) == iota(6));
  CHECK(numbers_of(Dataset::range(2).repeat(3)) == Indices{0, 1, 0, 1, 0, 1});
  CHECK(numbers_of(Dataset::range(2).repeat().take(5)) == Indices{0, 1, 0, 1, 0});
  CHECK(numbers_of(six.take(2)) == Indices{0, 1});
  CHECK(numbers_of(six.take(-1)) == iota(6));
  CHECK(numbers_of(six.skip(4)) == Indices{4, 5});
  CHECK(numbers_of(six.skip(9)).empty());
  CHECK(numbers_of(six.cache()) == iota(6));
  CHECK(numbers_of(six.prefetch(3)) == iota(6));
  CHECK(numbers_of(six.concatenate(Dataset::range(2))) == Indices{0, 1, 2, 3, 4, 5, 0, 1});
  CHECK(numbers_of(six.shard(4, 1)) == Indices{1, 5});
  CHECK(numbers_of(generated(3)) == iota(3));
}

TEST_CASE("datasets: interleave has tf.data's order", "[data]") {
  // The example of tf.data.Dataset.interleave's documentation.
  const Dataset repeated = Dataset::range(1, 6).interleave(
      [](Batch element) {
        return Dataset::from_tensor_slices(
                   {{Tensor::from<std::int32_t>({1}, {static_cast<std::int32_t>(element.x[0].item())})}, {}, {}})
            .repeat(6);
      },
      2, 4);
  CHECK(numbers_of(repeated) ==
        Indices{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5});
  CHECK(numbers_of(Dataset::range(4).flat_map([](Batch element) {
          return Dataset::range(static_cast<std::int64_t>(element.x[0].item()));
        })) == Indices{0, 0, 1, 0, 1, 2});
}

TEST_CASE("datasets: zip combines inputs into inputs, targets and weights, or collects each kind", "[data]") {
  const Dataset a = Dataset::range(3), b = Dataset::range(10, 14), c = Dataset::range(20, 23);
  std::int64_t count = 0;
  for (const Batch& element : Dataset::zip({a, b, c})) {
    CHECK(element.x[0].item() == static_cast<double>(count));
    CHECK(element.y[0].item() == static_cast<double>(10 + count));
    CHECK(element.sample_weight[0].item() == static_cast<double>(20 + count));
    ++count;
  }
  CHECK(count == 3);
  const Batch pair = *Dataset::zip({Dataset::zip({a, b}), Dataset::zip({b, c})}).begin();
  CHECK(pair.x[1].item() == 10);
  CHECK(pair.y[1].item() == 20);
  CHECK_THROWS_WITH(*Dataset::zip({a, a, a, a}).begin(), ContainsSubstring("expected to be in format `x`"));
}

TEST_CASE("datasets: cardinality is known, infinite or unknown, as in tf.data", "[data]") {
  const Dataset ten = Dataset::range(10), forever = ten.repeat(), open = generated(3);
  constexpr auto infinite = Dataset::infinite, unknown = Dataset::unknown;
  CHECK(ten.cardinality() == 10);
  CHECK(forever.cardinality() == infinite);
  CHECK(open.cardinality() == unknown);
  CHECK(ten.map(tenfold).shuffle(3).cache().prefetch(1).cardinality() == 10);
  CHECK(ten.filter(even).cardinality() == unknown);
  CHECK(ten.batch(4).cardinality() == 3);
  CHECK(ten.batch(4, true).cardinality() == 2);
  CHECK(ten.batch(4).unbatch().cardinality() == unknown);
  CHECK(forever.batch(4).cardinality() == infinite);
  CHECK(ten.repeat(3).cardinality() == 30);
  CHECK(ten.repeat(0).cardinality() == 0);
  CHECK(open.repeat(2).cardinality() == unknown);
  CHECK(open.repeat().cardinality() == infinite);
  CHECK(ten.take(20).cardinality() == 10);
  CHECK(forever.take(20).cardinality() == 20);
  CHECK(open.take(1).cardinality() == unknown);
  CHECK(ten.skip(4).cardinality() == 6);
  CHECK(ten.skip(40).cardinality() == 0);
  CHECK(forever.skip(4).cardinality() == infinite);
  CHECK(ten.shard(4, 1).cardinality() == 3);
  CHECK(ten.shard(4, 2).cardinality() == 2);
  CHECK(Dataset::zip({ten, forever}).cardinality() == 10);
  CHECK(Dataset::zip({forever, forever}).cardinality() == infinite);
  CHECK(Dataset::zip({ten, open}).cardinality() == unknown);
  CHECK(ten.concatenate(ten).cardinality() == 20);
  CHECK(ten.concatenate(forever).cardinality() == infinite);
  CHECK(ten.concatenate(open).cardinality() == unknown);
  CHECK(open.assert_cardinality(3).cardinality() == 3);
}

TEST_CASE("datasets: shuffle is a permutation that depends on seed and iteration", "[data]") {
  const auto size = GENERATE(1, 2, 7, 100, 1000);
  const Dataset shuffled = Dataset::range(100).shuffle(size, {.seed = 5});
  const Indices first = numbers_of(shuffled);
  CHECK(std::set(first.begin(), first.end()).size() == 100);
  CHECK(numbers_of(shuffled) == first);
  CHECK((numbers_of(shuffled, 1) == first) == (size == 1));
  CHECK((numbers_of(Dataset::range(100).shuffle(size, {.seed = 6})) == first) == (size == 1));
  CHECK(numbers_of(Dataset::range(100).shuffle(size, {.seed = 5, .reshuffle_each_iteration = false}), 1) == first);
  // No element is returned before it can be in the buffer.
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i] < static_cast<std::int64_t>(i) + size);
}

TEST_CASE("datasets: with a buffer of the whole dataset all orders are equally likely", "[data]") {
  std::map<Indices, int> orders;
  const Dataset shuffled = Dataset::range(3).shuffle(3, {.seed = 1});
  for (std::uint64_t iteration = 0; iteration < 6000; ++iteration) ++orders[numbers_of(shuffled, iteration)];
  CHECK(orders.size() == 6);
  for (const auto& [order, times] : orders) CHECK(std::abs(times - 1000) < 150);  // five deviations
}

TEST_CASE("datasets: each repetition and each epoch has a new shuffle", "[data]") {
  const Dataset twice = Dataset::range(20).shuffle(20, {.seed = 1}).repeat(2);
  const Indices first = numbers_of(twice), second = numbers_of(twice, 1);
  const auto half = [](const Indices& all, int which) {
    return Indices(all.begin() + 20 * which, all.begin() + 20 * (which + 1));
  };
  const std::set<Indices> orders{half(first, 0), half(first, 1), half(second, 0), half(second, 1)};
  CHECK(orders.size() == 4);
}

TEST_CASE("datasets: a shuffle that repeats without end, or is read several times, has no order twice", "[data]") {
  const Dataset shuffled = Dataset::range(20).shuffle(20, {.seed = 1});
  const Dataset ways[] = {shuffled.repeat().take(120), shuffled.repeat(2).repeat().take(120),
                          shuffled.concatenate(shuffled).repeat(2).concatenate(shuffled).concatenate(shuffled),
                          Dataset::range(6).flat_map([&](const Batch&) { return shuffled; }),
                          Dataset::range(3).flat_map([&](const Batch&) {
                            return Dataset::range(2).flat_map([&](const Batch&) { return shuffled; });
                          })};
  for (const Dataset& way : ways) {
    std::set<Indices> orders;
    for (std::uint64_t iteration = 0; iteration < 10; ++iteration) {
      const Indices all = numbers_of(way, iteration);
      REQUIRE(all.size() == 120);
      for (int pass = 0; pass < 6; ++pass)
        orders.insert(Indices(all.begin() + 20 * pass, all.begin() + 20 * pass + 20));
    }
    CHECK(orders.size() == 60);
  }
}

TEST_CASE("datasets: a restored iterator continues with exactly the next element", "[data]") {
  int calls = 0;
  const auto counted = [&calls](Batch element) {
    ++calls;
    return tenfold(std::move(element));
  };
  const Dataset base = Dataset::range(23);
  const Dataset pipelines[]{
      base.shuffle(5, {.seed = 3}).batch(4),
      base.map(tenfold).shuffle(50, {.seed = 3}).repeat(3).batch(4, true),
      base.repeat().shuffle(9, {.seed = 3}).map(tenfold).take(60),
      base.filter(even).shuffle(4, {.seed = 3}).batch(2),
      base.cache().shuffle(4, {.seed = 3}).repeat(2),
      Dataset::zip({base.shuffle(7, {.seed = 1}), base.shard(2, 1).repeat(2)}),
      base.skip(3).shard(3, 2).concatenate(base.shuffle(6, {.seed = 2}).shuffle(3, {.seed = 4})),
      base.batch(5).unbatch().prefetch(4),
      base.shuffle(7, {.seed = 1}).repeat().take(60),
      base.flat_map([base](const Batch&) { return base.take(5).shuffle(5, {.seed = 2}); }),
      base.interleave([](Batch element) { return Dataset::range(static_cast<std::int64_t>(element.x[0].item())); }, 3,
                      2),
      generated(12).shuffle(4, {.seed = 3}).batch(5),
      generated(12).assert_cardinality(12).shuffle(4, {.seed = 3}).batch(5),
      base.map(counted),
  };
  for (const Dataset& dataset : pipelines) {
    const std::uint64_t iteration = 2;
    const Indices whole = numbers_of(dataset, iteration);
    for (std::size_t stop = 0; stop <= whole.size(); ++stop) {
      DatasetIterator before(dataset, iteration);
      for (std::size_t i = 0; i < stop; ++i) REQUIRE(before.next().get());
      DatasetIterator after(dataset);
      after.restore(before.state());
      CHECK(after.state() == before.state());
      Indices rest;
      while (const auto element = after.next().get()) rest.push_back(static_cast<std::int64_t>(element->x[0].at(0)));
      CHECK(rest == Indices(whole.begin() + static_cast<std::ptrdiff_t>(stop), whole.end()));
    }
  }
  calls = 0;
  DatasetIterator after(base.map(counted));
  after.restore({0, 20});
  after.next().get();
  CHECK(calls == 1);  // earlier elements are skipped, not computed
}

TEST_CASE("datasets: an iterator can return to any state, which is two small numbers", "[data]") {
  DatasetIterator elements(Dataset::range(10).shuffle(4, {.seed = 1}), 3);
  elements.next().get();
  const DataState state = elements.state();
  CHECK(state == DataState{3, 1});
  const double next = elements.next().get()->x[0].item();
  elements.next().get();
  elements.restore(state);
  CHECK(elements.next().get()->x[0].item() == next);
  CHECK_THROWS_WITH(elements.restore({1}), ContainsSubstring("a state of 1 numbers - expected 2"));
  CHECK_THROWS_WITH(elements.restore({0, -1}), ContainsSubstring("of 0 or more"));
  elements.restore({0, 11});
  CHECK_THROWS_WITH(elements.next().get(), ContainsSubstring("a state after 11 elements of 10"));
}

TEST_CASE("datasets: restoring a shuffle reads only earlier elements that are in its buffer", "[data]") {
  struct Rows : ArrayLike {
    Shape extents{1'000'000};
    mutable std::int64_t reads = 0;
    const Shape& shape() const override { return extents; }
    DType dtype() const override { return DType::int32; }
    void read(std::int64_t first, std::int64_t last, std::byte* out) const override {
      reads += last - first;
      for (; first < last; ++first, out += 4) {
        const auto value = static_cast<std::int32_t>(first);
        std::memcpy(out, &value, 4);
      }
    }
  };
  const auto rows = std::make_shared<Rows>();
  DatasetIterator elements(Dataset::from_array_likes({rows}).shuffle(100, {.seed = 1}).batch(10));
  elements.restore({0, 50'000});
  CHECK(elements.next().get()->size() == 10);
  CHECK(rows->reads <= 110);
}

TEST_CASE("datasets: cache makes its elements once, after a complete pass", "[data]") {
  int calls = 0;
  const Dataset cached = Dataset::range(5).map([&](Batch element) { return ++calls, element; }).cache();
  CHECK(numbers_of(cached.take(3)) == iota(3));
  CHECK(calls == 3);
  CHECK(numbers_of(cached) == iota(5));
  CHECK(calls == 8);
  CHECK(numbers_of(cached.repeat(3)).size() == 15);
  CHECK(calls == 8);
}

TEST_CASE("datasets: cache is filled by a loop that knows the number of elements, and reads no more", "[data]") {
  int calls = 0;
  const Dataset cached = Dataset::range(5).map([&](Batch element) { return ++calls, element; }).cache();
  for (int pass = 0; pass < 3; ++pass) {
    DatasetIterator elements(cached);
    for (int i = 0; i < 5; ++i) REQUIRE(elements.next().get());
  }
  CHECK(calls == 5);
}

TEST_CASE("datasets: cache keeps the first iteration, whichever is read first", "[data]") {
  const auto shuffled = [] { return Dataset::range(20).shuffle(20, {.seed = 3}); };
  const Indices expected = numbers_of(shuffled());
  const Dataset cached = shuffled().cache();
  DatasetIterator third(cached, 2);  // of a fit that continues in its third epoch
  Indices read;
  while (const std::optional<Batch> element = third.next().get())
    read.push_back(static_cast<std::int64_t>(element->x.front().item()));
  CHECK(read == expected);
  CHECK(numbers_of(cached) == expected);
}

TEST_CASE("datasets: cache does not take elements after an error for a complete pass", "[data]") {
  int calls = 0;
  const Dataset cached = Dataset::range(5)
                             .map([&](Batch element) {
                               check(++calls != 3, ErrorKind::data, "map", "the third");
                               return element;
                             })
                             .cache();
  DatasetIterator elements(cached);
  for (int i = 0; i < 2; ++i) REQUIRE(elements.next().get());
  CHECK_THROWS_AS(elements.next().get(), Error);
  while (elements.next().get()) continue;
  CHECK(numbers_of(cached) == iota(5));
}

TEST_CASE("datasets: prefetch makes a bounded number in advance, on another thread, and can be destroyed", "[data]") {
  std::atomic<int> calls = 0;
  std::atomic<std::thread::id> maker;
  const Dataset ahead = Dataset::range(100)
                            .map([&](Batch element) {
                              ++calls;
                              maker = std::this_thread::get_id();
                              return element;
                            })
                            .prefetch(3);
  DatasetIterator elements(ahead);
  CHECK(calls == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK(elements.next().get()->x[0].item() == i);
    CHECK(calls <= i + 1 + 3);
  }
#ifdef ETUDE_PREFETCH
  CHECK(maker.load() != std::this_thread::get_id());
#endif
}

TEST_CASE("datasets: next rethrows the exception of a function, after prefetch too", "[data]") {
  const bool ahead = GENERATE(false, true);
  const Dataset breaks = Dataset::range(10).map([](Batch element) {
    if (element.x[0].item() == 3) throw std::out_of_range("mine");
    return element;
  });
  DatasetIterator elements(ahead ? breaks.prefetch(2) : breaks);
  for (int i = 0; i < 3; ++i) CHECK(elements.next().get()->x[0].item() == i);
  CHECK_THROWS_WITH(elements.next().get(), "mine");
}

TEST_CASE("datasets: a repeated dataset without elements ends", "[data]") {
  CHECK(numbers_of(Dataset::range(5).filter([](const Batch&) { return false; }).repeat()).empty());
  CHECK(numbers_of(Dataset::range(0).repeat()).empty());
}

TEST_CASE("datasets: a model refuses a dataset without batch", "[data]") {
  const Dataset samples_of_four = Dataset::from_tensor_slices({{counting(6, 4)}, {counting(6, 1)}, {}});
  Sequential model({layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK_THROWS_WITH(model.fit(samples_of_four, {.verbose = 0}),
                    ContainsSubstring("[Dataset] an element of shapes [4], [1] - expected batches") &&
                        ContainsSubstring("call .batch(n) on the dataset"));
  CHECK_THROWS_WITH(model.fit(Dataset::range(3), {.verbose = 0}), ContainsSubstring("call .batch(n) on the dataset"));
  const Dataset one_feature = Dataset::from_tensor_slices({{counting(6, 1)}, {counting(6, 1)}, {}});
  CHECK_THROWS_WITH(model.fit(one_feature, {.verbose = 0}), ContainsSubstring("call .batch(n) on a Dataset"));
  model.fit(samples_of_four.batch(3), {.verbose = 0});
}

TEST_CASE("datasets: wrong arguments are refused by the function that gets them", "[data]") {
  const Dataset ten = Dataset::range(10);
  CHECK_THROWS_WITH(ten.batch(0), ContainsSubstring("[Dataset.batch] size = 0 - expected 1 or more"));
  CHECK_THROWS_WITH(ten.shuffle(0), ContainsSubstring("buffer_size = 0"));
  CHECK_THROWS_WITH(ten.repeat(-2), ContainsSubstring("count = -2"));
  CHECK_THROWS_WITH(ten.skip(-1), ContainsSubstring("count = -1"));
  CHECK_THROWS_WITH(ten.prefetch(0), ContainsSubstring("count = 0"));
  CHECK_THROWS_WITH(ten.shard(3, 3), ContainsSubstring("index 3 of 3 shards"));
  CHECK_THROWS_WITH(ten.map(Dataset::Map{}), ContainsSubstring("[Dataset.map] no function"));
  CHECK_THROWS_WITH(Dataset::zip({}), ContainsSubstring("no datasets"));
  CHECK_THROWS_WITH(Dataset::range(0, 1, 0), ContainsSubstring("step = 0"));
  CHECK_THROWS_WITH(Dataset::from_tensor_slices({{counting(3, 1)}, {counting(4, 1)}, {}}),
                    ContainsSubstring("Data cardinality is ambiguous"));
  CHECK_THROWS_WITH(lists_of(Dataset::range(4)
                                 .flat_map([](Batch element) {
                                   const auto rows = static_cast<std::int64_t>(element.x[0].item()) + 1;
                                   return Dataset::from_tensor_slices({{counting(1, rows)}, {}, {}});
                                 })
                                 .batch(4)),
                    ContainsSubstring("an element of shape [2]"));
}

}  // namespace etude
