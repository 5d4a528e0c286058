#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <set>
#include <utility>

#include "data_samples.hpp"
#include "etude/etude.hpp"
#include "golden.hpp"

// The functions of keras.utils that prepare data, against Keras 3.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;
using samples::counting;

const nlohmann::json& cases(const char* name) {
  static const nlohmann::json all = golden("preprocessing.json").at("cases");
  return all.at(name);
}

/// The numbers of x of all elements.
std::vector<double> numbers_of(const Dataset& dataset) {
  std::vector<double> all;
  for (const Batch& element : dataset)
    for (const double number : numbers(element.x.front())) all.push_back(number);
  return all;
}

std::vector<double> sorted(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

utils::TimeseriesOptions windows_of(const nlohmann::json& given) {
  utils::TimeseriesOptions options{.sequence_length = given.at("sequence_length"),
                                   .batch_size = given.at("batch_size")};
  options.sequence_stride = given.value("sequence_stride", 1);
  options.sampling_rate = given.value("sampling_rate", 1);
  if (given.contains("start_index")) options.start_index = given.at("start_index");
  if (given.contains("end_index")) options.end_index = given.at("end_index");
  return options;
}

}  // namespace

TEST_CASE("to_categorical: one-hot rows as in Keras; a last axis of 1 is removed", "[utils]") {
  for (const nlohmann::json& each : cases("to_categorical")) {
    std::optional<std::int64_t> classes;
    if (!each.at("num_classes").is_null()) classes = each.at("num_classes");
    CHECK(difference(utils::to_categorical(tensor_in(each.at("x")), classes), tensor_in(each.at("y"))) == "");
  }
}

TEST_CASE("to_categorical: classes out of range and fractions are errors", "[utils][errors]") {
  const auto error = [](std::vector<double> labels, std::optional<std::int64_t> classes) {
    const Shape shape{std::ssize(labels)};
    return error_of([&] { utils::to_categorical(tensor_of(shape, DType::float32, labels), classes); });
  };
  CHECK_THAT(error({0, 3}, 3), ContainsSubstring("[utils.to_categorical] the class 3 of num_classes = 3"));
  CHECK_THAT(error({0, -1}, 3), ContainsSubstring("the class -1 - expected a whole number"));
  CHECK_THAT(error({0.5}, {}), ContainsSubstring("the class 0.5 - expected a whole number"));
  CHECK_THAT(error({}, {}), ContainsSubstring("no labels, and no num_classes"));
  CHECK(utils::to_categorical(Tensor({0, 1}, DType::int32), 3).shape() == Shape{0, 3});
}

TEST_CASE("normalize: vectors are divided by their norm of any order; zeros stay zeros", "[utils]") {
  for (const nlohmann::json& each : cases("normalize")) {
    const Tensor y = utils::normalize(tensor_in(each.at("x")), {.order = each.at("order")});
    CHECK(difference(y, tensor_in(each.at("y")), {0, 1e-6}) == "");
  }
  const Tensor x = tensor_of({2, 2}, DType::int32, {3, 1, -4, 1});
  CHECK(difference(numbers(utils::normalize(x, {.axis = 0})), std::vector{0.6, 0.70710678, -0.8, 0.70710678},
                   {1e-6, 0}) == "");
  CHECK(numbers(utils::normalize(x, {.order = std::numeric_limits<double>::infinity()})) ==
        std::vector<double>{1, static_cast<double>(1.F / 3), -1, 0.25});
  CHECK_THAT(error_of([&] { utils::normalize(x, {.order = 0}); }), ContainsSubstring("[utils.normalize] order = 0"));
  CHECK(kind_of([&] { utils::normalize(x, {.axis = 2}); }) == ErrorKind::shape);
}

TEST_CASE("pad_sequences: pads and cuts either end, as Keras does", "[utils]") {
  const std::vector<std::vector<std::int32_t>> ragged{{1}, {2, 3}, {}, {4, 5, 6, 7}};
  for (const nlohmann::json& each : cases("pad_sequences")) {
    const nlohmann::json& given = each.at("options");
    utils::PadSequencesOptions options{.dtype = given.value("dtype", "int32"),
                                       .padding = given.value("padding", "pre"),
                                       .truncating = given.value("truncating", "pre"),
                                       .value = given.value("value", 0.0)};
    if (given.contains("maxlen")) options.maxlen = given.at("maxlen");
    CHECK(difference(utils::pad_sequences(ragged, options), tensor_in(each.at("y"))) == "");
  }
  const std::vector rows{counting(2, 2), tensor_of({3, 2}, DType::int32, {4, 5, 6, 7, 8, 9})};
  CHECK(difference(utils::pad_sequences(rows, {.maxlen = 3, .padding = "post"}),
                   tensor_in(cases("pad_sequences_of_rows"))) == "");
  CHECK(utils::pad_sequences(std::vector<Tensor>{}).shape() == Shape{0, 0});
}

TEST_CASE("pad_sequences: steps of several shapes and unknown ends are errors", "[utils][errors]") {
  CHECK_THAT(error_of([] { utils::pad_sequences({counting(2, 2), counting(2, 3)}); }),
             ContainsSubstring("a sequence of shape [2, 3] after steps of shape [2]"));
  CHECK_THAT(error_of([] { utils::pad_sequences({counting(2, 2)}, {.padding = "left"}); }),
             ContainsSubstring("[utils.pad_sequences] padding = \"left\" - expected \"pre\" or \"post\""));
  CHECK_THAT(error_of([] { utils::pad_sequences({counting(2, 2)}, {.maxlen = -1}); }),
             ContainsSubstring("maxlen = -1"));
}

TEST_CASE("timeseries_dataset_from_array: windows and targets as in Keras", "[utils]") {
  const Tensor data = counting(20, 2, DType::int32);
  Tensor targets({20}, DType::int32);
  for (std::int32_t i = 0; i < 20; ++i) targets.data<std::int32_t>()[static_cast<std::size_t>(i)] = 10 * i;
  for (const nlohmann::json& each : cases("timeseries")) {
    std::size_t number = 0;
    for (const Batch& batch : utils::timeseries_dataset_from_array(data, targets, windows_of(each.at("options")))) {
      const nlohmann::json& want = each.at("batches").at(number++);
      CHECK(difference(batch.x.front(), tensor_in(want.at(0))) == "");
      CHECK(difference(batch.y.front(), tensor_in(want.at(1))) == "");
    }
    CHECK(number == each.at("batches").size());
  }
}

TEST_CASE("timeseries_dataset_from_array: without targets or batches, and shuffled again at each iteration",
          "[utils]") {
  const Tensor data = counting(9, 1);
  const Dataset single = utils::timeseries_dataset_from_array(data, {}, {.sequence_length = 3, .batch_size = {}});
  CHECK(single.cardinality() == 7);
  CHECK((*single.begin()).x.front().shape() == Shape{3, 1});
  CHECK((*single.begin()).y.empty());
  const Dataset shuffled = utils::timeseries_dataset_from_array(
      data, {}, {.sequence_length = 3, .batch_size = 2, .shuffle = true, .seed = 4});
  const auto iteration = [&](std::uint64_t number) {
    std::vector<double> all;
    DatasetIterator elements(shuffled, number);
    while (const std::optional<Batch> batch = elements.next().get())
      for (const double each : numbers(batch->x.front())) all.push_back(each);
    return all;
  };
  CHECK(iteration(0) != iteration(1));
  CHECK(iteration(0) == iteration(0));
  CHECK(sorted(iteration(0)) == sorted(numbers_of(single)));
}

TEST_CASE("timeseries_dataset_from_array: options that the data does not allow are errors", "[utils][errors]") {
  const Tensor data = counting(9, 1);
  const auto error = [&](const utils::TimeseriesOptions& options, const std::optional<Tensor>& targets = {}) {
    return error_of([&] { utils::timeseries_dataset_from_array(data, targets, options); });
  };
  CHECK_THAT(error({}), ContainsSubstring("sequence_length = 0 for data of 9 steps"));
  CHECK_THAT(error({.sequence_length = 2, .sampling_rate = 9}), ContainsSubstring("sampling_rate = 9"));
  CHECK_THAT(error({.sequence_length = 2, .sequence_stride = 0}), ContainsSubstring("sequence_stride = 0"));
  CHECK_THAT(error({.sequence_length = 2, .end_index = 9}), ContainsSubstring("end_index = 9"));
  CHECK_THAT(error({.sequence_length = 5, .sampling_rate = 3}), ContainsSubstring("expected a window to fit"));
  CHECK_THAT(error({.sequence_length = 2, .start_index = 4}, counting(3, 1)), ContainsSubstring("3 targets for"));
}

TEST_CASE("split_dataset: fractions and numbers of elements, the last elements on the right", "[utils]") {
  const Dataset ten = Dataset::range(10);
  const auto split = [](const std::pair<Dataset, Dataset>& parts) {
    return std::pair(numbers_of(parts.first), numbers_of(parts.second));
  };
  const auto [left, right] = split(utils::split_dataset(ten, {.left_size = 0.7}));
  CHECK(left == std::vector<double>{0, 1, 2, 3, 4, 5, 6});
  CHECK(right == std::vector<double>{7, 8, 9});
  CHECK(split(utils::split_dataset(ten, {.right_size = 3})) == std::pair(left, right));
  const auto [first, last] = split(utils::split_dataset(ten, {.left_size = 2, .right_size = 0.3}));
  CHECK(first == std::vector<double>{0, 1});
  CHECK(last == right);
  const auto rows = utils::split_dataset(Batch{{counting(4, 2)}, {counting(4, 1)}, {}}, {.left_size = 0.5});
  CHECK(numbers_of(rows.second) == std::vector<double>{4, 5, 6, 7});
}

TEST_CASE("split_dataset: shuffled parts share no element, at any iteration", "[utils]") {
  const auto [left, right] = utils::split_dataset(Dataset::range(10), {.left_size = 6, .shuffle = true, .seed = 3});
  DatasetIterator later(left, 5);
  std::vector<double> again;
  while (const std::optional<Batch> element = later.next().get()) again.push_back(element->x.front().item());
  CHECK(again == numbers_of(left));
  CHECK(again != std::vector<double>{0, 1, 2, 3, 4, 5});
  std::vector<double> all = again;
  for (const double number : numbers_of(right)) all.push_back(number);
  CHECK(sorted(all) == numbers_of(Dataset::range(10)));
}

TEST_CASE("split_dataset: sizes that leave a part empty, or overlap, are errors", "[utils][errors]") {
  const auto error = [](const Dataset& dataset, const utils::SplitDatasetOptions& options) {
    return error_of([&] { utils::split_dataset(dataset, options); });
  };
  const Dataset ten = Dataset::range(10);
  CHECK_THAT(error(ten, {}), ContainsSubstring("neither left_size nor right_size"));
  CHECK_THAT(error(ten, {.left_size = 10}), ContainsSubstring("left_size = 10 of 10 elements"));
  CHECK_THAT(error(ten, {.left_size = 0}), ContainsSubstring("left_size = 0"));
  CHECK_THAT(error(ten, {.right_size = 2.5}), ContainsSubstring("right_size = 2.5"));
  CHECK_THAT(error(ten, {.left_size = 0.01}), ContainsSubstring("0 and 10 of 10 elements"));
  CHECK_THAT(error(ten, {.left_size = 0.6, .right_size = 5}), ContainsSubstring("6 and 5 of 10 elements"));
  CHECK_THAT(error(ten.repeat(), {.left_size = 0.5}), ContainsSubstring("a dataset of infinite size"));
}

TEST_CASE("skipgrams: the couples of a window, in order, as in Keras", "[utils]") {
  const nlohmann::json& want = cases("skipgrams");
  const utils::Skipgrams made =
      utils::skipgrams(tensor_in(want.at("sequence")), 5, {.window_size = 2, .negative_samples = 0, .shuffle = false});
  CHECK(difference(made.couples, tensor_in(want.at("couples"))) == "");
  CHECK(difference(made.labels, tensor_in(want.at("labels"))) == "");
}

TEST_CASE("skipgrams: random couples have first words of the sequence and any second word but 0", "[utils]") {
  const Tensor sequence = tensor_of({5}, DType::int32, {1, 2, 0, 3, 3});
  const utils::SkipgramsOptions options{.window_size = 1, .negative_samples = 50, .categorical = true, .seed = 6};
  const utils::Skipgrams made = utils::skipgrams(sequence, 9, options);
  std::map<double, int> of_label;
  std::set<double> seconds;
  bool first_sorted = true;
  for (std::int64_t i = 0; i < made.couples.shape()[0]; ++i) {
    CHECK(made.labels.at(2 * i) + made.labels.at(2 * i + 1) == 1);
    ++of_label[made.labels.at(2 * i + 1)];
    first_sorted &= i >= 4 || made.labels.at(2 * i + 1) == 1;
    if (made.labels.at(2 * i + 1) == 1) continue;
    CHECK((made.couples.at(2 * i) >= 1 && made.couples.at(2 * i) <= 3));
    seconds.insert(made.couples.at(2 * i + 1));
  }
  CHECK(of_label == std::map<double, int>{{0, 200}, {1, 4}});
  CHECK(seconds == std::set<double>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK_FALSE(first_sorted);
  CHECK(same_bits(utils::skipgrams(sequence, 9, options).couples, made.couples));
}

TEST_CASE("skipgrams: a sampling table leaves out words with its probability", "[utils]") {
  const Tensor sequence = tensor_of({4}, DType::int32, {1, 2, 1, 2});
  const utils::SkipgramsOptions options{.negative_samples = 0, .sampling_table = {0, 0, 1}, .seed = 1};
  const utils::Skipgrams made = utils::skipgrams(sequence, 3, options);
  CHECK(made.couples.shape() == Shape{6, 2});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(made.couples.at(2 * i) == 2);
  CHECK_THAT(error_of([&] { utils::skipgrams(sequence, 3, {.sampling_table = {1, 1}}); }),
             ContainsSubstring("the word 2 for a sampling_table of 2 words"));
  CHECK_THAT(error_of([&] { utils::skipgrams(sequence, 2); }), ContainsSubstring("the word 2 - expected"));
}

TEST_CASE("make_sampling_table: Keras's probabilities", "[utils]") {
  CHECK(difference(utils::make_sampling_table(6, 1e-3), numbers_in(cases("sampling_table")), {0, 1e-12}) == "");
  CHECK(kind_of([] { utils::make_sampling_table(0); }) == ErrorKind::value);
  CHECK_THROWS_AS(utils::make_sampling_table(std::int64_t{1} << 62), std::bad_alloc);
}

TEST_CASE("datasets: the files of a dataset, one after the other, and every n-th of them with the same stages",
          "[data]") {
  using Indices = std::vector<double>;
  // File f has the elements 10 f and 10 f + 1.
  const Dataset files = Dataset::from_files({"0", "1", "2", "3", "4"}, [](const std::string& path) {
    const auto first = static_cast<std::int64_t>(10 * std::stoi(path));
    return Dataset::range(first, first + 2);
  });
  CHECK(numbers_of(files) == Indices{0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  const Dataset ten = Dataset::range(10);
  CHECK_THROWS_WITH(ten.with_options({.auto_shard_policy = "files"}),
                    ContainsSubstring("auto_shard_policy = \"files\""));
  CHECK_THROWS_WITH(ten.shard_files(2, 0), ContainsSubstring("a dataset of 0 files for 2 shards"));
  CHECK_THROWS_WITH(Dataset::from_files({}, [&](const std::string&) { return ten; }), ContainsSubstring("0 paths"));
  if (!has_device_libraries) return;  // several processes are not for pages
  CHECK(files.file_count() == 5);
  CHECK(numbers_of(files.shard_files(2, 0)) == Indices{0, 1, 20, 21, 40, 41});
  CHECK(numbers_of(files.shard_files(5, 3)) == Indices{30, 31});
  const auto negated = [](Batch element) {
    element.x[0] = Tensor::from<std::int32_t>(Shape{}, {-static_cast<std::int32_t>(element.x[0].item())});
    return element;
  };
  const auto is_even = [](const Batch& element) { return static_cast<int>(element.x[0].item()) % 2 == 0; };
  const auto part = [](const Dataset& dataset) { return numbers_of(dataset.shard_files(2, 1)); };
  CHECK(part(files) == Indices{10, 11, 30, 31});
  CHECK(part(files.map(negated).with_options({.auto_shard_policy = "file"}).filter(is_even)) == Indices{-10, -30});
  CHECK(part(files.batch(3).unbatch().skip(1).take(2).repeat(2)) == Indices{11, 30, 11, 30});
  CHECK(part(files.cache().prefetch(2).shard(2, 1).assert_cardinality(5)) == Indices{11, 31});
  CHECK(part(files.flat_map([](Batch element) {
          return Dataset::from_tensor_slices({{element.x[0].reshape({1})}, {}, {}}).repeat(2);
        })) == Indices{10, 10, 11, 11, 30, 30, 31, 31});
  const Dataset shuffled = files.shuffle(10, {.seed = 4});
  CHECK(part(shuffled) == numbers_of(files.shard_files(2, 1).shuffle(10, {.seed = 4})));
  CHECK(files.with_options({.auto_shard_policy = "off"}).batch(2).options().auto_shard_policy == "off");
  CHECK(files.with_options({.auto_shard_policy = "off"}).shard_files(2, 1).options().auto_shard_policy == "off");
  CHECK(files.concatenate(files).file_count() == 0);
  CHECK(ten.file_count() == 0);
  CHECK_THROWS_WITH(files.shard_files(6, 0), ContainsSubstring("a dataset of 5 files for 6 shards"));
  CHECK_THROWS_WITH(files.shard_files(2, 2), ContainsSubstring("index 2 of 2 shards"));
}

}  // namespace etude
