#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <new>
#include <typeinfo>

#include "etude/base/detail/checked.hpp"
#include "etude/data/detail/sequence_adapter.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/shape.hpp"
#include "etude/saving/config.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Sizes near 2^63: arithmetic on them is exact or an Error, and counts do not allocate.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::kind_of;
using Values = std::span<const Value>;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), huge = std::int64_t{1} << 62;

std::vector<double> first_of(const Dataset& dataset, int count) {
  std::vector<double> result;
  for (const Batch& element : dataset) {
    if (count-- == 0) break;
    result.push_back(element.x[0].at(0));
  }
  return result;
}

/// Whether the action throws an Error or bad_alloc, and no other exception.
template <class Action> bool refused(Action action) {
  try {
    action();
    return false;
  } catch (const Error&) {
    return true;
  } catch (const std::bad_alloc& error) {
    return typeid(error) == typeid(std::bad_alloc);
  }
}

}  // namespace

TEST_CASE("checked arithmetic returns the result, or an error that names both numbers", "[sizes]") {
  CHECK(checked::add(most - 1, 1, "here") == most);
  CHECK(checked::multiply(huge - 1, 2, "here") == most - 1);
  CHECK(checked::subtract(-most, 1, "here") == -most - 1);
  CHECK_THROWS_WITH(checked::add(most, 1, "here"), ContainsSubstring("[here] 9223372036854775807 + 1 - expected"));
  CHECK_THROWS_WITH(checked::multiply(huge, 2, "here"), ContainsSubstring("4611686018427387904 * 2"));
  CHECK_THROWS_WITH(checked::subtract(-most, 2, "here"), ContainsSubstring("-9223372036854775807 - 2"));
  CHECK(checked::multiply_or_most(huge, 4) == most);
  CHECK(checked::add_or_most(most, most) == most);
}

TEST_CASE("a shape whose number of elements overflows is an Error, also if one extent is 0", "[sizes]") {
  CHECK_THROWS_WITH((Shape{huge, 2}.size()), ContainsSubstring("[4611686018427387904, 2] - expected less than 2^63"));
  CHECK(kind_of([] { static_cast<void>(Shape{huge, 4, 0}.size()); }) == ErrorKind::shape);
  CHECK(kind_of([] { Tensor({0, huge, 2}); }) == ErrorKind::shape);
  CHECK(Shape{huge, 0}.size() == 0);
  CHECK(kind_of([] { static_cast<void>(Tensor({6}).reshape({huge, 4})); }) == ErrorKind::shape);
  const auto run = [](const Shape& shape, const testing::Function& function) {
    return kind_of([&] { testing::run({Tensor(shape)}, function); });
  };
  CHECK(run({6}, [](Values x) { return ops::reshape(x[0], {huge, 4, -1}); }) == ErrorKind::value);
  CHECK(run({6}, [](Values x) { return ops::reshape(x[0], {huge, 4}); }).has_value());
  CHECK(run({6}, [](Values x) { return ops::slice(x[0], 0, 1, most); }) == ErrorKind::shape);
  CHECK(run({1}, [](Values x) { return ops::broadcast_to(x[0], {huge, 4}); }) == ErrorKind::shape);
  const auto scatter = [](const Shape& rows) {
    testing::run({Tensor(rows), Tensor({2}, DType::int32)},
                 [](Values x) { return ops::scatter_add(x[0], x[1], std::int64_t{1} << 61); });
  };
  CHECK(kind_of([&] { scatter({2, 8}); }) == ErrorKind::shape);
  CHECK(refused([&] { scatter({2, 1}); }));
  scatter({2, 0});  // rows without elements need no work
}

TEST_CASE("a layer whose number of weights overflows is refused when it is built", "[sizes]") {
  const auto refuses = [](const char* layer, const Shape& shape) {
    INFO(layer);
    CHECK(refused([&] { (*from_json<Layer>(layer))(std::vector<Tensor>{Tensor(shape)}); }));
  };
  for (const char* layer :
       {R"({"class_name": "LSTM", "config": {"units": 4611686018427387904}})",
        R"({"class_name": "GRU", "config": {"units": 6148914691236517206}})",
        R"({"class_name": "SimpleRNN", "config": {"units": 9223372036854775807}})",
        R"({"class_name": "Dense", "config": {"units": 4611686018427387904}})",
        R"({"class_name": "MultiHeadAttention", "config": {"num_heads": 4611686018427387904, "key_dim": 4}})",
        R"({"class_name": "Embedding", "config": {"input_dim": 4611686018427387904, "output_dim": 4}})"})
    refuses(layer, {2, 4, 4});
  for (const char* layer :
       {R"({"class_name": "Conv2D", "config": {"filters": 4611686018427387904, "kernel_size": 2}})",
        R"({"class_name": "Conv2D", "config": {"filters": 2, "kernel_size": 4611686018427387904}})",
        R"({"class_name": "Conv2D", "config": {"filters": 2, "kernel_size": 2, "dilation_rate": 4611686018427387904}})",
        R"({"class_name": "MaxPooling2D", "config": {"pool_size": 2, "strides": 4611686018427387904}})"})
    refuses(layer, {1, 4, 4, 4});
}

TEST_CASE("a range has exactly its numbers, or is refused", "[sizes]") {
  const std::int64_t beyond = std::int64_t{1} << 33;
  CHECK_THROWS_WITH(Dataset::range(beyond, beyond + 2),
                    ContainsSubstring("numbers from 8589934592 to 8589934593 - expected the range of int32"));
  CHECK(kind_of([] { Dataset::range(most); }) == ErrorKind::value);
  CHECK(kind_of([] { Dataset::range(0, -most - 1, -1); }) == ErrorKind::value);
  CHECK(Dataset::range(0, most, most).cardinality() == 1);
  CHECK(Dataset::range(0, -most - 1, -most - 1).cardinality() == 1);
  CHECK(Dataset::range(most, 0).cardinality() == 0);
  CHECK(Dataset::range(-2147483648LL, 2147483648LL).cardinality() == std::int64_t{1} << 32);
  CHECK(first_of(Dataset::range(7, 0, -3), 9) == std::vector<double>{7, 4, 1});
}

TEST_CASE("datasets whose cardinality overflows are refused; the longest countable ones are not", "[sizes]") {
  const Dataset three = Dataset::range(3), long_one = three.repeat(huge / 2);
  CHECK(long_one.cardinality() == 3 * (huge / 2));
  CHECK_THROWS_WITH(long_one.repeat(4), ContainsSubstring("[Dataset.repeat] 4 * 6917529027641081856"));
  CHECK(kind_of([&] { static_cast<void>(long_one.concatenate(long_one)); }) == ErrorKind::value);
  CHECK(long_one.batch(most).cardinality() == 1);
  CHECK(long_one.batch(most, true).cardinality() == 0);
  CHECK(three.skip(most).cardinality() == 0);
  CHECK(three.shard(most, most - 1).cardinality() == 0);
  CHECK(three.take(most).cardinality() == 3);
  CHECK(first_of(long_one.skip(huge), 3) == std::vector<double>{1, 2, 0});  // 2^62 is 1 modulo 3
  CHECK(first_of(three.batch(2).skip(most), 3).empty());
  CHECK(first_of(three.shard(most, 1).skip(most), 3).empty());
}

TEST_CASE("buffers allocate for existing elements, not for their nominal size", "[sizes]") {
  const Dataset three = Dataset::range(3);
  const std::vector<double> all{0, 1, 2};
  CHECK(first_of(three.prefetch(most), 9) == all);
  const auto each = [](const Batch& element) {
    return Dataset::from_tensor_slices({{element.x[0].reshape({1})}, {}, {}});
  };
  CHECK(first_of(three.interleave(each, most), 9) == all);
  CHECK(first_of(three.interleave(each, 2, most), 9) == all);
  CHECK(first_of(three.shuffle((std::int64_t{1} << 32) - 1, {.seed = 1}), 9).size() == 3);
  CHECK(kind_of([&] { static_cast<void>(three.shuffle(most)); }) == ErrorKind::value);
}

TEST_CASE("a sequence has its reported size; only a shuffled one keeps its order in memory", "[sizes]") {
  struct Endless : Sequence {
    std::int64_t size() const override { return most; }
    Batch batch(std::int64_t index) override {
      return {{filled({1, 1}, static_cast<float>(index))}, {filled({1, 1}, 0)}, {}};
    }
  };
  const auto endless = std::make_shared<Endless>();
  SequenceAdapter adapter(endless, {.workers = 2, .max_queue_size = 3});
  CHECK(adapter.size() == most);
  CHECK(adapter.consume()->x[0].item() == 0);
  CHECK(adapter.consume()->x[0].item() == 1);
  CHECK_THROWS_WITH(SequenceAdapter(endless, {.shuffle = true}),
                    ContainsSubstring("9223372036854775807 batches to shuffle - expected"));
  Sequential model(summing_unit());
  model.compile(mse());
  model.fit(Data(endless), {.epochs = 2, .verbose = 0, .shuffle = false, .steps_per_epoch = 2});
}

}  // namespace etude
