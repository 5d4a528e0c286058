#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "allocation_counter.hpp"
#include "data_samples.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/data/detail/split.hpp"
#include "etude/data/detail/tensor_like_adapter.hpp"
#include "support.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::kind_of;

/// `samples` rows with their number in x [n, 3], y [n] and sample_weight [n].
Batch arrays_of(std::int64_t samples) {
  Tensor y(Shape{samples}, DType::int32);
  std::iota(y.data<std::int32_t>().begin(), y.data<std::int32_t>().end(), 0);
  return {{counting(samples, 3)}, {y}, {y.astype(DType::float32)}};
}

/// Row numbers of a batch of `arrays_of`, after a check that its tensors agree.
Indices row_numbers(const Batch& batch) {
  Indices rows;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    rows.push_back(static_cast<std::int64_t>(batch.y[0].at(i)));
    REQUIRE(batch.x[0].at(3 * i + 2) == 3.0 * static_cast<double>(rows.back()) + 2.0);
    REQUIRE(batch.sample_weight[0].at(i) == static_cast<double>(rows.back()));
  }
  return rows;
}

/// All batches of one pass.
std::vector<Indices> pass(DataAdapter& adapter, int epoch) {
  std::vector<Indices> batches;
  adapter.begin_epoch(epoch);
  for (;;) {
    CHECK_FALSE(adapter.fetch());
    const Batch* batch = adapter.consume();
    if (!batch) return batches;
    batches.push_back(row_numbers(*batch));
  }
}

Indices concatenated(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Indices sorted(Indices numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

// ---- Arrays ----

TEST_CASE("arrays: batches of 32 by default, of ceil(n / steps) when only steps are given (L-1)", "[data]") {
  CHECK(TensorLikeAdapter(arrays_of(100)).batch_size() == 32);
  CHECK(TensorLikeAdapter(arrays_of(100), {.steps = 7}).batch_size() == 15);
  CHECK(TensorLikeAdapter(arrays_of(100), {.batch_size = 10, .steps = 7}).batch_size() == 10);
}

TEST_CASE("arrays: every row occurs once per pass, in order, the last batch partial (L-2)", "[data]") {
  for (std::int64_t samples : {1, 2, 3, 7, 31, 32, 33, 100})
    for (std::int64_t batch_size : {1, 2, 3, 7, 32, 1000}) {
      for (bool prefetch : {false, true}) {
        TensorLikeAdapter adapter(arrays_of(samples), {.batch_size = batch_size, .prefetch = prefetch});
        const std::vector<Indices> batches = pass(adapter, 0);
        CHECK(concatenated(batches) == iota(samples));
        CHECK(adapter.size() == (samples + batch_size - 1) / batch_size);
        CHECK(adapter.size() == static_cast<std::int64_t>(batches.size()));
        const bool partial = samples > batch_size && samples % batch_size != 0;
        CHECK(adapter.has_partial_batch() == partial);
        if (partial) CHECK(adapter.partial_batch_size() == static_cast<std::int64_t>(batches.back().size()));
      }
    }
}

TEST_CASE("arrays: without shuffling a batch is a view of the data", "[data]") {
  Batch arrays = arrays_of(10);
  TensorLikeAdapter adapter(arrays, {.batch_size = 4});
  adapter.begin_epoch(0);
  adapter.fetch();
  adapter.consume();
  adapter.fetch();
  const Batch* second = adapter.consume();
  CHECK(second->x[0].raw() == arrays.x[0].raw() + 4 * 3 * sizeof(float));
  CHECK(second->x[0].shape() == Shape{4, 3});
}

TEST_CASE("arrays: shuffling gives each epoch another permutation, by (seed, epoch) only (L-31, L-32)", "[data]") {
  const bool prefetch = GENERATE(false, true);
  TensorLikeAdapter adapter(arrays_of(100),
                            {.batch_size = 7, .shuffle = Shuffle::samples, .seed = 3, .prefetch = prefetch});
  const Indices first = concatenated(pass(adapter, 0)), second = concatenated(pass(adapter, 1));
  CHECK(sorted(first) == iota(100));
  CHECK(sorted(second) == iota(100));
  CHECK(first != second);
  CHECK(first != iota(100));
  CHECK(concatenated(pass(adapter, 0)) == first);
  Indices order(100);
  shuffled_order(order, 3, 1);
  CHECK(second == order);
  TensorLikeAdapter other(arrays_of(100), {.batch_size = 7, .shuffle = Shuffle::samples, .seed = 4});
  CHECK(concatenated(pass(other, 0)) != first);
}

TEST_CASE("arrays: shuffling keeps x, y and sample_weight of a row together, for random sizes", "[data]") {
  Random random(1, RandomStream::shuffle);
  for (int trial = 0; trial < 40; ++trial) {
    const std::int64_t samples = 1 + random.below(200), batch_size = 1 + random.below(64);
    const Shuffle shuffle = random.below(2) ? Shuffle::samples : Shuffle::batch;
    TensorLikeAdapter adapter(arrays_of(samples), {.batch_size = batch_size, .shuffle = shuffle});
    const std::vector<Indices> batches = pass(adapter, trial);
    CHECK(sorted(concatenated(batches)) == iota(samples));
    CHECK(static_cast<std::int64_t>(batches.size()) == (samples + batch_size - 1) / batch_size);
  }
}

TEST_CASE("arrays: shuffle batch moves whole batches, and rows inside each (L-31)", "[data]") {
  TensorLikeAdapter adapter(arrays_of(95), {.batch_size = 10, .shuffle = Shuffle::batch, .seed = 5});
  std::vector<Indices> batches = pass(adapter, 2);
  Indices blocks;
  bool moved_inside = false;
  for (const Indices& batch : batches) {
    const std::int64_t block = batch.front() / 10;
    blocks.push_back(block);
    moved_inside = moved_inside || sorted(batch) != batch;
    for (std::int64_t row : batch) CHECK(row / 10 == block);
    CHECK(batch.size() == (block == 9 ? 5 : 10));
  }
  CHECK(moved_inside);
  CHECK(blocks != iota(10));
  CHECK(sorted(blocks) == iota(10));
  CHECK(pass(adapter, 2) == batches);
  CHECK(pass(adapter, 3) != batches);
}

TEST_CASE("arrays: a pass can start over in its middle", "[data]") {
  const bool prefetch = GENERATE(false, true);
  TensorLikeAdapter adapter(arrays_of(50), {.batch_size = 8, .shuffle = Shuffle::samples, .prefetch = prefetch});
  const std::vector<Indices> whole = pass(adapter, 4);
  adapter.begin_epoch(1);
  for (int i = 0; i < 3; ++i) {
    adapter.fetch();
    REQUIRE(adapter.consume());
  }
  adapter.fetch();
  CHECK(pass(adapter, 4) == whole);
}

TEST_CASE("arrays: rows that are selected on a device equal rows that are copied", "[data]") {
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::samples, Shuffle::batch}) {
    const TensorLikeOptions options{.batch_size = 7, .shuffle = shuffle, .seed = 3};
    TensorLikeAdapter copying(arrays_of(40), options), selecting(arrays_of(40), options);
    selecting.select_rows();
    for (const int epoch : {0, 1}) {
      copying.begin_epoch(epoch);
      selecting.begin_epoch(epoch);
      for (int batch = 0; batch < 6; ++batch) {
        CHECK_FALSE(copying.fetch());
        CHECK_FALSE(selecting.fetch());
        const Batch *copied = copying.consume(), *selected = selecting.consume();
        CHECK(selected->selection.arrays == selecting.arrays());
        const auto rows = selected->selection.order.subspan(static_cast<std::size_t>(selected->selection.first),
                                                            static_cast<std::size_t>(selected->size()));
        CHECK(Indices(rows.begin(), rows.end()) == row_numbers(*copied));
        CHECK(selected->selection.pass == (shuffle == Shuffle::none ? 0 : epoch + 2));
        CHECK(selected->x[0].shape() == copied->x[0].shape());
        CHECK(selected->sample_weight[0].shape() == copied->sample_weight[0].shape());
      }
      CHECK_FALSE(selecting.fetch());
      CHECK(selecting.consume() == nullptr);
    }
  }
}

TEST_CASE("arrays: the mask of an input moves with its rows", "[data]") {
  // Both entries of a row are its number modulo 3.
  const auto masked = [](std::int64_t samples) {
    Batch arrays = arrays_of(samples);
    Tensor mask(Shape{samples, 2}, DType::int32);
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(samples); ++i)
      mask.data<std::int32_t>()[i] = static_cast<std::int32_t>(i / 2 % 3);
    arrays.x.push_back(counting(samples, 1));
    arrays.mask = {Tensor(), mask};
    return arrays;
  };
  const auto check_masks = [](const Batch& batch) {
    const Indices rows = row_numbers(batch);
    REQUIRE(batch.mask.size() == 2);
    CHECK_FALSE(batch.mask[0]);
    REQUIRE(batch.mask[1].shape() == Shape{batch.size(), 2});
    for (std::size_t i = 0; i < rows.size(); ++i)
      CHECK(batch.mask[1].at(2 * static_cast<std::int64_t>(i) + 1) == static_cast<double>(rows[i] % 3));
  };
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::samples, Shuffle::batch})
    for (const bool prefetch : {false, true}) {
      TensorLikeAdapter adapter(masked(40), {.batch_size = 7, .shuffle = shuffle, .prefetch = prefetch});
      CHECK(adapter.peek()->mask[1].shape() == Shape{7, 2});
      adapter.begin_epoch(0);
      for (int batch = 0; batch < 6; ++batch) {
        CHECK_FALSE(adapter.fetch());
        check_masks(*adapter.consume());
      }
    }
  TensorLikeAdapter selecting(masked(40), {.batch_size = 7});
  selecting.select_rows();
  selecting.begin_epoch(0);
  CHECK_FALSE(selecting.fetch());
  CHECK(selecting.consume()->mask[1].shape() == Shape{7, 2});
  const Split split = train_validation_split(masked(10), 0.25);
  check_masks(split.train);
  check_masks(split.validation);

  Batch other = masked(4);
  other.mask[1] = Tensor(Shape{5, 2}, DType::boolean);
  CHECK_THROWS_WITH(TensorLikeAdapter(other),
                    ContainsSubstring("ambiguous") && ContainsSubstring("; mask sizes: 5 - "));
  other.mask.pop_back();
  CHECK_THROWS_WITH(TensorLikeAdapter(other),
                    ContainsSubstring("1 masks for 2 inputs - expected none, or one for each"));
}

TEST_CASE("arrays: floats are cast to floatx once, integers keep their type (L-38)", "[data]") {
  const Batch arrays{
      {counting(4, 2, DType::float64), counting(4, 2, DType::uint8)}, {counting(4, 1, DType::int32)}, {}};
  for (Shuffle shuffle : {Shuffle::none, Shuffle::samples}) {
    TensorLikeAdapter adapter(arrays, {.shuffle = shuffle});
    const std::shared_ptr<const Batch> cast = adapter.arrays();
    CHECK(cast->x[0].dtype() == DType::float32);
    for (const int epoch : {0, 1}) {
      adapter.begin_epoch(epoch);
      adapter.fetch();
      const Batch* batch = adapter.consume();
      CHECK(adapter.arrays() == cast);
      CHECK((batch->x[0].raw() == cast->x[0].raw()) == (shuffle == Shuffle::none));
      CHECK(batch->x[0].dtype() == DType::float32);
      CHECK(batch->x[1].dtype() == DType::uint8);
      CHECK(batch->y[0].dtype() == DType::int32);
      CHECK(batch->sample_weight.empty());
      CHECK_FALSE(adapter.fetch());
      CHECK(adapter.consume() == nullptr);
    }
  }
}

TEST_CASE("arrays: one-dimensional data keeps its shape (L-34)", "[data]") {
  const Tensor x = counting(4, 1).reshape(Shape{4});  // no partial batch, which may be the first in a shuffled order
  for (Shuffle shuffle : {Shuffle::none, Shuffle::samples, Shuffle::batch}) {
    TensorLikeAdapter adapter({{x}, {x}, {}}, {.batch_size = 2, .shuffle = shuffle});
    adapter.fetch();
    CHECK(adapter.consume()->x[0].shape() == Shape{2});
  }
}

TEST_CASE("arrays: rows of all sizes and dtypes are gathered correctly", "[data]") {
  for (DType dtype : {DType::float32, DType::int32, DType::uint8, DType::boolean})
    for (std::int64_t columns : {1, 2, 3, 8, 17}) {
      Tensor x = counting(6, columns, DType::int32).astype(dtype);
      TensorLikeAdapter adapter({{x}, {}, {}}, {.batch_size = 6, .shuffle = Shuffle::samples, .seed = 9});
      Indices order(6);
      shuffled_order(order, 9, 0);
      adapter.fetch();
      const Batch* batch = adapter.consume();
      for (std::int64_t row = 0; row < 6; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
          CHECK(batch->x[0].at(row * columns + column) ==
                x.at(order[static_cast<std::size_t>(row)] * columns + column));
    }
}

TEST_CASE("arrays: rows without elements are allowed", "[data]") {
  TensorLikeAdapter adapter({{Tensor(Shape{5, 0})}, {}, {}}, {.batch_size = 2, .shuffle = Shuffle::samples});
  adapter.fetch();
  CHECK(adapter.consume()->x[0].shape() == Shape{2, 0});
}

TEST_CASE("arrays: peek has the structure and consumes no batch", "[data]") {
  TensorLikeAdapter adapter(arrays_of(10), {.batch_size = 4});
  CHECK(adapter.peek()->x[0].shape() == Shape{4, 3});
  CHECK(adapter.peek()->y[0].shape() == Shape{4});
  CHECK(concatenated(pass(adapter, 0)) == iota(10));
}

TEST_CASE("arrays: no step allocates, the partial batch and the next epoch included", "[data]") {
  const Shuffle shuffle = GENERATE(Shuffle::none, Shuffle::samples, Shuffle::batch);
  const bool prefetch = GENERATE(false, true);
  DataHandler data(std::make_unique<TensorLikeAdapter>(
                       arrays_of(1000), TensorLikeOptions{.batch_size = 64, .shuffle = shuffle, .prefetch = prefetch}),
                   {.epochs = 4, .steps_per_execution = 3});
  std::int64_t rows = 0;
  std::size_t before = 0;
  for (int epoch : data.enumerate_epochs()) {
    if (epoch == 1) before = allocations();
    for ([[maybe_unused]] std::int64_t step : data.steps())
      for (std::int64_t i = 0; i <= data.step_increment(); ++i) {
        if (data.fetch()) FAIL();
        rows += data.consume()->size();
      }
  }
  CHECK(allocations() == before);
  CHECK(rows == 4000);
}

TEST_CASE("arrays: different sizes are an error that lists all sizes (L-37)", "[data]") {
  const auto message = [](const Batch& arrays) -> std::string {
    try {
      TensorLikeAdapter adapter(arrays);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      return error.what();
    }
    return "";
  };
  CHECK(message({{counting(5, 2)}, {counting(6, 1)}, {}}) ==
        "[data] Data cardinality is ambiguous: x sizes: 5; y sizes: 6 - expected the same number of samples in all "
        "arrays - "
        "check the data.");
  CHECK(message({{counting(5, 2), counting(4, 2)}, {}, {}}).find("ambiguous: x sizes: 5, 4 - expected") !=
        std::string::npos);
  CHECK(message({{counting(5, 2)}, {counting(5, 1)}, {counting(1, 1)}}).find("; sample_weight sizes: 1") !=
        std::string::npos);
}

TEST_CASE("arrays: empty and missing data are errors", "[data]") {
  CHECK_THROWS_WITH(TensorLikeAdapter(Batch{}), ContainsSubstring("[data] no x"));
  CHECK_THROWS_WITH(TensorLikeAdapter({{Tensor(Shape{0, 3})}, {Tensor(Shape{0})}, {}}),
                    ContainsSubstring("x of shape [0, 3] is empty - expected at least one sample"));
  CHECK_THROWS_WITH(TensorLikeAdapter({{Tensor()}, {}, {}}), ContainsSubstring("x[0] holds no data"));
  CHECK_THROWS_WITH(TensorLikeAdapter({{counting(2, 2)}, {counting(2, 1), Tensor()}, {}}),
                    ContainsSubstring("y[1] holds no data"));
  CHECK_THROWS_WITH(TensorLikeAdapter({{Tensor(Shape{})}, {}, {}}), ContainsSubstring("x[0] is a scalar"));
}

TEST_CASE("arrays: a batch size or number of steps below 1 is an error", "[data]") {
  CHECK_THROWS_WITH(TensorLikeAdapter(arrays_of(3), {.batch_size = 0}),
                    ContainsSubstring("[data] batch_size 0 - expected 1 or more"));
  CHECK_THROWS_WITH(TensorLikeAdapter(arrays_of(3), {.batch_size = -4}), ContainsSubstring("batch_size -4"));
  CHECK_THROWS_WITH(TensorLikeAdapter(arrays_of(3), {.steps = 0}), ContainsSubstring("steps 0"));
}

// ---- Prefetching ----

TEST_CASE("validation_split: the last rows, floor(n (1 - split)) from the start, as views (L-7)", "[data]") {
  const Batch arrays = arrays_of(10);
  const Split split = train_validation_split(arrays, 0.25);
  CHECK(row_numbers(split.train) == iota(7));
  CHECK(row_numbers(split.validation) == Indices{7, 8, 9});
  CHECK(split.train.x[0].raw() == arrays.x[0].raw());
  CHECK(train_validation_split(arrays_of(5), 0.01).validation.size() == 1);
  CHECK(train_validation_split(arrays_of(60000), 0.1).validation.size() == 6000);
}

TEST_CASE("validation_split: a part without rows is an error in Keras's words (L-8)", "[data]") {
  CHECK_THROWS_WITH(
      train_validation_split(arrays_of(1), 0.5),
      ContainsSubstring("[fit] Training data contains 1 samples, which is not sufficient to split it into a "
                        "validation and training set as specified by `validation_split=0.5`"));
  CHECK_THROWS_WITH(train_validation_split(arrays_of(2), 0.9), ContainsSubstring("contains 2 samples"));
  CHECK(kind_of([] { train_validation_split(arrays_of(1), 0.5); }) == ErrorKind::value);
}

TEST_CASE("validation_split: the split is between 0 and 1, and arrays have equal sizes", "[data]") {
  for (double share : {0.0, 1.0, -0.5, 1.5, std::nan("")})
    CHECK_THROWS_WITH(train_validation_split(arrays_of(10), share),
                      ContainsSubstring("expected a number between 0 and 1"));
  CHECK_THROWS_WITH(train_validation_split({{counting(4, 1)}, {counting(5, 1)}, {}}, 0.5),
                    ContainsSubstring("ambiguous"));
}

TEST_CASE("validation_split: data in batches cannot be split (L-8)", "[data]") {
  CHECK_NOTHROW(check_no_validation_split(0));
  CHECK_THROWS_WITH(check_no_validation_split(0.1),
                    ContainsSubstring("`validation_split` is only supported for arrays"));
}

}  // namespace etude
