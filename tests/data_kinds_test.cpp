#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "data_samples.hpp"
#include "etude/data/data.hpp"
#include "etude/data/detail/dataset_adapter.hpp"
#include "etude/data/detail/tensor_like_adapter.hpp"
#include "support.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::kind_of;

/// [count] with 0, 1, 2, …, read row by row.
struct Rows : ArrayLike {
  Shape extents;
  mutable Indices runs;  // the number of rows of each read

  explicit Rows(std::int64_t count) : extents{count, 1} {}
  const Shape& shape() const override { return extents; }
  DType dtype() const override { return DType::float64; }
  void read(std::int64_t first, std::int64_t last, std::byte* out) const override {
    runs.push_back(last - first);
    for (; first < last; ++first, out += sizeof(double)) {
      const auto value = static_cast<double>(first);
      std::memcpy(out, &value, sizeof value);
    }
  }
};

struct Singles : Sequence {
  std::int64_t size() const override { return 6; }
  Batch batch(std::int64_t index) override { return single(static_cast<double>(index)); }
};

/// The batches of a pass, as lists of their first inputs' numbers.
std::vector<Indices> pass(DataAdapter& adapter, int epoch = 0) {
  std::vector<Indices> batches;
  adapter.begin_epoch(epoch);
  for (;;) {
    CHECK_FALSE(adapter.fetch());
    const Batch* batch = adapter.consume();
    if (!batch) return batches;
    Indices& numbers = batches.emplace_back();
    for (std::int64_t i = 0; i < batch->x[0].size(); ++i)
      numbers.push_back(static_cast<std::int64_t>(batch->x[0].at(i)));
  }
}

Indices flat(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

const Tensor three = counting(3, 2);

}  // namespace

TEST_CASE("kinds of data: exactly one adapter accepts each", "[data]") {
  const CsrMatrix sparse(2, Tensor::from<float>({2}, {1, 2}), {0, 1}, {0, 1, 1, 2});
  const std::pair<Data, std::string> kinds[]{
      {Data(List{{1, 2}, {3, 4}}, List{0, 1}), "ListsAdapter"},
      {Data(std::vector<float>{1, 2}), "ListsAdapter"},
      {Data(three, three), "TensorLikeAdapter"},
      {Data(std::make_shared<Rows>(3)), "ArrayLikeAdapter"},
      {Data(std::make_shared<Rows>(3), three), "ArrayLikeAdapter"},
      {Data(Dataset::range(3).batch(1)), "DatasetAdapter"},
      {Data(generator_of(3)), "GeneratorAdapter"},
      {Data([]() -> BatchGenerator { co_yield single(0); }()), "GeneratorAdapter"},
      {Data(std::make_shared<Singles>()), "SequenceAdapter"},
      {Data(sparse, three), "CompositeAdapter"},
      {Data(DatasetCreator{[](const InputContext&) { return Dataset::range(3); }}), "DatasetCreatorAdapter"},
  };
  for (const auto& [data, name] : kinds) {
    CHECK(select_data_adapter(data).name == name);
    CHECK(std::ranges::count_if(adapter_kinds(), [&](const auto& kind) { return kind.can_handle(data); }) == 1);
  }
}

TEST_CASE("kinds of data: data that no adapter accepts, or several, is an error as in Keras", "[data]") {
  CHECK_THROWS_WITH(select_data_adapter(Data(List{1, 2}, Tensor(Shape{2}))),
                    ContainsSubstring("Failed to find data adapter that can handle input: a list, a tensor"));
  CHECK(testing::kind_of([] { select_data_adapter(Data(List{1, 2}, Tensor(Shape{2}))); }) == ErrorKind::data);
  CHECK_THROWS_WITH(
      select_data_adapter(Data(std::make_shared<Rows>(3), CsrMatrix(1, Tensor(Shape{0}), {}, {0, 0, 0, 0}))),
      ContainsSubstring("Failed to find data adapter that can handle input: an array-like, a sparse or ragged one"));
  const std::array both{adapter_kinds()[1], adapter_kinds()[1]};
  CHECK_THROWS_WITH(select_data_adapter(Data(three), both),
                    ContainsSubstring("Data adapters should be mutually exclusive for handling inputs"));
}

TEST_CASE("kinds of data: batch_size is only for data that is not batched yet", "[data]") {
  const AdapterOptions options{.rows = {.batch_size = 2}};
  for (const Data& data : {Data(Dataset::range(3)), Data(generator_of(3)), Data(std::make_shared<Singles>())})
    CHECK_THROWS_WITH(data.adapter(options), ContainsSubstring("The `batch_size` argument must not be specified"));
}

TEST_CASE("lists: integers are int32, others floatx, and rows must have equal lengths", "[data]") {
  CHECK(List{{1, 2}, {3, 4}, {5, 6}}.tensor().shape() == Shape{3, 2});
  CHECK(List{1, 2}.tensor().dtype() == DType::int32);
  CHECK(List{1, 2.5}.tensor().dtype() == floatx());
  CHECK(List{1, 2.5}.tensor().at(1) == 2.5);
  CHECK(List(std::vector<std::vector<double>>{{1, 2}, {3, 4}}).tensor().at(3) == 4);
  CHECK(List(std::vector<int>{7}).tensor().dtype() == DType::int32);
  CHECK_THROWS_WITH((List{{1, 2}, {3}}), ContainsSubstring("rows of equal length"));
  CHECK(List{2147483647, -2147483648}.tensor().at(1) == -2147483648.0);
  CHECK(List(std::vector<double>{3e9}).tensor().at(0) == 3e9);
  CHECK_THROWS_WITH(List{3000000000},
                    "[List] the number 3000000000 - expected the range of int32 - pass it as a double.");
  CHECK_THROWS_WITH(List(std::vector<std::int64_t>{1, -3000000000}), ContainsSubstring("the number -3000000000"));
  CHECK(kind_of([] { List{3000000000}; }) == ErrorKind::data);
}

TEST_CASE("lists: every epoch starts at the first batch (L-19); arrays continue (L-18)", "[data]") {
  for (const bool list : {true, false}) {
    const List numbers{0, 1, 2, 3, 4, 5};
    const Data data = list ? Data(numbers) : Data(numbers.tensor());
    DataHandler handler(data.adapter({.rows = {.batch_size = 1}}), {.epochs = 3, .steps_per_epoch = 2});
    Record record;
    loop(handler, record).get();
    CHECK(record.seen == (list ? Indices{0, 1, 0, 1, 0, 1} : Indices{0, 1, 2, 3, 4, 5}));
  }
}

TEST_CASE("array-likes: only the rows of the next batch are read, consecutive ones at once", "[data]") {
  const auto rows = std::make_shared<Rows>(10);
  ArrayLikeAdapter adapter({{rows}, {}, {}}, {.batch_size = 4});
  CHECK(adapter.peek()->x[0].dtype() == DType::float32);
  CHECK(rows->runs == Indices{4});
  CHECK(pass(adapter) == std::vector<Indices>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(rows->runs == Indices{4, 4, 2});
  CHECK(adapter.size() == 3);
  CHECK(adapter.partial_batch_size() == 2);
}

TEST_CASE("array-likes: batches equal those of arrays in memory, for any shuffle", "[data]") {
  const auto shuffle = GENERATE(Shuffle::none, Shuffle::samples, Shuffle::batch);
  const TensorLikeOptions options{.batch_size = 4, .shuffle = shuffle, .seed = 3};
  ArrayLikeAdapter adapter({{std::make_shared<Rows>(10)}, {}, {}}, options);
  TensorLikeAdapter arrays({{counting(10, 1)}, {}, {}}, options);
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(pass(adapter, epoch) == pass(arrays, epoch));
}

TEST_CASE("array-likes: sizes that differ are an error (L-37)", "[data]") {
  CHECK_THROWS_WITH(ArrayLikeAdapter({{std::make_shared<Rows>(3)}, {std::make_shared<Rows>(4)}, {}}),
                    ContainsSubstring("Data cardinality is ambiguous"));
  CHECK_THROWS_WITH(ArrayLikeAdapter({{std::make_shared<Rows>(0)}, {}, {}}), ContainsSubstring("is empty"));
  CHECK_THROWS_WITH(ArrayLikeAdapter({}), ContainsSubstring("no x"));
}

TEST_CASE("sparse matrices: a batch is dense", "[data]") {
  const CsrMatrix matrix(3, Tensor::from<float>({4}, {1, 2, 3, 4}), {0, 2, 1, 1}, {0, 2, 2, 4});
  const auto adapter = Data(matrix, counting(3, 1)).adapter({.rows = {.batch_size = 3}});
  CHECK(pass(*adapter) == std::vector<Indices>{{1, 0, 2, 0, 0, 0, 0, 7, 0}});
  CHECK_THROWS_WITH(CsrMatrix(2, Tensor(Shape{1}), {2}, {0, 1}), ContainsSubstring("column 2 of 2"));
  CHECK_THROWS_WITH(CsrMatrix(-3, Tensor(Shape{0}), {}, {0}), ContainsSubstring("-3 columns - expected 0 or more"));
  CHECK_THROWS_WITH(CsrMatrix(2, Tensor(Shape{1}), {0}, {0, 2}), ContainsSubstring("2 row_splits for 1 entries"));
  CHECK_THROWS_WITH(CsrMatrix(2, Tensor(Shape{2}), {0}, {0, 2}), ContainsSubstring("1 columns for 2 values"));
}

TEST_CASE("ragged rows: a batch is padded and has a mask", "[data]") {
  const RaggedTensor ragged(Tensor::from<std::int32_t>({6}, {1, 2, 3, 4, 5, 6}), {0, 2, 2, 5, 6});
  const auto adapter = Data(ragged).adapter({.rows = {.batch_size = 2}});
  REQUIRE(adapter->peek());
  const Batch first = *adapter->peek();
  REQUIRE(first.mask.size() == 1);
  CHECK(first.mask[0].shape() == Shape{2, 3});
  Indices there;
  for (std::int64_t i = 0; i < 6; ++i) there.push_back(static_cast<std::int64_t>(first.mask[0].at(i)));
  CHECK(there == Indices{1, 1, 0, 0, 0, 0});
  CHECK(pass(*adapter) == std::vector<Indices>{{1, 2, 0, 0, 0, 0}, {3, 4, 5, 6, 0, 0}});
  CHECK_THROWS_WITH(RaggedTensor(Tensor(Shape{3}), {0, 2, 1, 3}), ContainsSubstring("numbers that rise from 0"));
}

TEST_CASE("ragged rows: a dataset of them has their mask", "[data]") {
  const auto ragged =
      std::make_shared<RaggedTensor>(Tensor::from<std::int32_t>({3}, {1, 2, 3}), std::vector<std::int64_t>{0, 2, 2, 3});
  const Batch batch = *DatasetIterator(Dataset::from_array_likes({ragged}).batch(3)).next().get();
  REQUIRE(batch.mask.size() == 1);
  CHECK(batch.mask[0].shape() == Shape{3, 2});
  CHECK(batch.mask[0].dtype() == DType::boolean);
  Indices there;
  for (std::int64_t i = 0; i < 6; ++i) there.push_back(static_cast<std::int64_t>(batch.mask[0].at(i)));
  CHECK(there == Indices{1, 1, 0, 0, 1, 0});
}

TEST_CASE("dataset creators: steps are required, and the function gets an InputContext", "[data]") {
  const DatasetCreator creator{[](const InputContext& context) {
    return Dataset::range(100)
        .repeat()
        .batch(context.get_per_replica_batch_size(4))
        .shard(context.num_input_pipelines, context.input_pipeline_id);
  }};
  CHECK_THROWS_WITH(Data(creator).adapter({}), ContainsSubstring("`steps_per_epoch`, `validation_steps` or `steps`"));
  const auto adapter = Data(creator).adapter({.rows = {.steps = 2}});
  CHECK(adapter->passes() == Passes::one);
  CHECK(adapter->consume()->size() == 4);
  CHECK_THROWS_WITH((DatasetCreatorAdapter(creator, 2, {.num_replicas_in_sync = 3})),
                    ContainsSubstring("batches of 4 for 3 replicas"));
}

TEST_CASE("datasets in epochs: each epoch restarts them, unless steps divide them otherwise (L-19)", "[data]") {
  const Dataset six = Dataset::range(6).batch(1);
  const auto run = [&](const Dataset& dataset, std::optional<std::int64_t> steps) {
    Record record;
    DataHandler handler(
        std::make_unique<DatasetAdapter>(dataset, steps),
        {.epochs = 2, .steps_per_epoch = steps, .warn = [&](std::string_view text) { record.warning = text; }});
    loop(handler, record).get();
    return record;
  };
  CHECK(run(six, {}).seen == Indices{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(run(six, 6).seen == Indices{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(run(six, 3).seen == iota(6));
  CHECK(run(six, 3).warning.empty());
  CHECK(run(six, 4).seen == iota(6));
  CHECK_THAT(run(six, 4).warning, ContainsSubstring("in this case, 8 batches"));
  CHECK(run(six.filter([](const Batch&) { return true; }), {}).seen.size() == 12);
  CHECK(run(six.repeat(), 4).seen == Indices{0, 1, 2, 3, 4, 5, 0, 1});
  CHECK_THROWS_WITH(
      run(six.repeat(), {}),
      ContainsSubstring("When passing an infinitely repeating dataset, please specify a `steps_per_epoch`"));
}

TEST_CASE("datasets in epochs: each epoch has another shuffle", "[data]") {
  const Dataset shuffled = Dataset::range(20).shuffle(20, {.seed = 1}).batch(20);
  DatasetAdapter adapter(shuffled);
  const Indices first = flat(pass(adapter, 0)), second = flat(pass(adapter, 1));
  CHECK(first != second);
  CHECK(flat(pass(adapter, 0)) == first);
}

TEST_CASE("steps_per_epoch = -1: an infinite epoch, with a warning (L-17)", "[data]") {
  for (const Data& data : {Data(counting(4, 1)), Data(Dataset::range(4).batch(1).repeat())}) {
    std::string warning;
    DataHandler handler(
        data.adapter({.rows = {.batch_size = data.is_arrays() ? std::optional<std::int64_t>(1) : std::nullopt}}),
        {.steps_per_epoch = -1, .warn = [&](std::string_view text) { warning = text; }});
    CHECK_THAT(warning, ContainsSubstring("will run indefinitely since you have set {.steps_per_epoch = -1}"));
    CHECK_FALSE(handler.inferred_steps());
    std::int64_t taken = 0;
    for ([[maybe_unused]] const int epoch : handler.enumerate_epochs())
      for ([[maybe_unused]] const std::int64_t step : handler.steps()) {
        handler.fetch();
        REQUIRE(handler.consume());
        if (++taken == 1000) break;
      }
    CHECK(taken == 1000);
  }
}

TEST_CASE("a loop restored within an epoch gets exactly the remaining batches", "[data]") {
  using Make = std::function<std::unique_ptr<DataAdapter>()>;
  const auto shuffle = [](Shuffle how) { return TensorLikeOptions{.batch_size = 3, .shuffle = how, .seed = 8}; };
  const Make kinds[]{
      [&] { return std::make_unique<TensorLikeAdapter>(Batch{{counting(20, 1)}, {}, {}}, shuffle(Shuffle::samples)); },
      [&] { return std::make_unique<TensorLikeAdapter>(Batch{{counting(20, 1)}, {}, {}}, shuffle(Shuffle::batch)); },
      [&] {
        TensorLikeOptions options = shuffle(Shuffle::samples);
        options.prefetch = true;
        return std::make_unique<TensorLikeAdapter>(Batch{{counting(20, 1)}, {}, {}}, options);
      },
      [&] {
        return std::make_unique<ArrayLikeAdapter>(ArrayLikes{{std::make_shared<Rows>(20)}, {}, {}},
                                                  shuffle(Shuffle::samples));
      },
      [&] {
        return std::make_unique<SequenceAdapter>(std::make_shared<Singles>(),
                                                 SequenceOptions{.shuffle = true, .seed = 8, .workers = 2});
      },
      [&] { return std::make_unique<DatasetAdapter>(Dataset::range(20).shuffle(7, {.seed = 8}).batch(3)); },
      [&] { return std::make_unique<DatasetAdapter>(Dataset::range(20).shuffle(7, {.seed = 8}).batch(3).repeat(), 5); },
  };
  for (const std::optional<std::int64_t> steps : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{5}})
    for (const Make& make : kinds) {
      const auto fresh = [&] {
        auto adapter = make();
        const std::optional<std::int64_t> of =
            steps || adapter->infinite() ? std::optional<std::int64_t>(5) : std::nullopt;
        return DataHandler(std::move(adapter),
                           {.initial_epoch = 1, .epochs = 4, .steps_per_epoch = of, .warn = [](auto) {}});
      };
      DataHandler whole = fresh();
      std::vector<DataState> states;
      Indices seen, epochs;
      std::vector<std::size_t> seen_at;
      for (const int epoch : whole.enumerate_epochs()) {
        for ([[maybe_unused]] const std::int64_t step : whole.steps()) {
          whole.fetch();
          const Batch* batch = whole.consume();
          if (!batch) {
            whole.stop_iteration();
            break;
          }
          seen.push_back(static_cast<std::int64_t>(batch->x[0].at(0)));
          epochs.push_back(epoch);
          states.push_back(whole.state());
          seen_at.push_back(seen.size());
        }
        states.push_back(whole.state());  // between epochs
        seen_at.push_back(seen.size());
      }
      for (std::size_t i = 0; i < states.size(); ++i) {
        DataHandler resumed = fresh();
        resumed.restore(states[i]);
        CHECK(resumed.state() == states[i]);
        Indices rest, their_epochs;
        for (const int epoch : resumed.enumerate_epochs())
          for ([[maybe_unused]] const std::int64_t step : resumed.steps()) {
            resumed.fetch();
            const Batch* batch = resumed.consume();
            if (!batch) {
              resumed.stop_iteration();
              break;
            }
            rest.push_back(static_cast<std::int64_t>(batch->x[0].at(0)));
            their_epochs.push_back(epoch);
          }
        const auto from = static_cast<std::ptrdiff_t>(seen_at[i]);
        CHECK(rest == Indices(seen.begin() + from, seen.end()));
        CHECK(their_epochs == Indices(epochs.begin() + from, epochs.end()));
      }
    }
}

TEST_CASE("a generator is restored by skipping consumed batches, and cannot go back", "[data]") {
  const auto next = [](DataAdapter& adapter) -> std::int64_t {
    adapter.fetch();
    const Batch* batch = adapter.consume();
    return batch ? static_cast<std::int64_t>(batch->x[0].at(0)) : -1;
  };
  GeneratorAdapter before(generator_of(4));
  CHECK(next(before) == 0);
  const DataState at_one = before.state();
  CHECK(next(before) == 1);
  const DataState at_two = before.state();

  GeneratorAdapter after(generator_of(4));
  after.restore(at_two);
  CHECK(after.state() == at_two);
  CHECK(next(after) == 2);
  CHECK_THROWS_WITH(after.restore(at_one), ContainsSubstring("3 batches were consumed - expected at most 1"));
  CHECK(next(after) == 3);
  CHECK(next(after) == -1);

  GeneratorAdapter fewer(generator_of(1));
  fewer.restore(at_two);
  CHECK_THROWS_WITH(fewer.fetch(), ContainsSubstring("create the generator as before"));
}

TEST_CASE("an invalid state is refused", "[data]") {
  DataHandler arrays(Data(three).adapter({}), {});
  CHECK_THROWS_WITH(arrays.restore({1, 2}), ContainsSubstring("a state of 2 numbers"));
}

}  // namespace etude
