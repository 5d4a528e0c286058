/// Datasets, and the files from which they are read. web/src/data.ts has their interface.
#include "data.hpp"

#include "bind.hpp"

namespace etude::js {
namespace {

using IteratorPtr = std::shared_ptr<DatasetIterator>;

Task<std::optional<Batch>> next(IteratorPtr iterator) { co_return co_await iterator->next(); }

/// A Tensor, or a Dataset.
struct AdaptData {
  val value;
};

/// Adapts a layer to a tensor, or to the batches of a dataset.
Task<val> adapt(std::shared_ptr<PreprocessingLayer> layer, val data) {
  const Where where{"PreprocessingLayer.adapt", "data"};
  if (!data.instanceof(val::module_property("Dataset"))) {
    layer->adapt(from_js<Tensor>(data, where));
    co_return val::undefined();
  }
  DatasetIterator batches(from_js<Dataset>(data, where));
  layer->reset_state();
  for (;;) {
    const std::optional<Batch> batch = co_await batches.next();
    if (!batch) break;
    check(!batch->x.empty(), ErrorKind::data, where.function,
          "an element without x - expected inputs - check the data.");
    layer->add_batch(batch->x.front());
  }
  layer->finalize_state();
  co_return val::undefined();
}

/// Pieces of bytes from a JavaScript iterator, possibly asynchronous.
class JavaScriptPieces : public ByteSource {
 public:
  explicit JavaScriptPieces(const val& iterator) : pieces_(iterator) {}
  PendingPtr fetch() override { return pieces_.fetch(); }
  std::optional<std::vector<std::byte>> consume() override {
    const val piece = pieces_.consume();
    if (piece.isNull()) return std::nullopt;
    return from_js<std::vector<std::byte>>(piece, {"csv", "a piece"});
  }

 private:
  JavaScriptIterator pieces_;
};

}  // namespace

template <> struct Conversion<IteratorPtr> {
  static IteratorPtr from(const val& value, const Where& where) {
    if (!value.instanceof(val::module_property("DatasetIterator")))
      where.wrong(value, "a DatasetIterator", "make one by dataset.iterator()");
    return value.as<IteratorPtr>();
  }
  static val to(const IteratorPtr& iterator) { return val(iterator); }
  static std::string given() { return "DatasetIterator"; }
  static std::string made() { return "DatasetIterator"; }
};

template <> struct Conversion<AdaptData> {
  static AdaptData from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "TensorLike | Dataset"; }
};

EMSCRIPTEN_BINDINGS(data) {
  if (in_worker()) return;
  auto dataset = held<Dataset>();
  method<"Dataset.map(mapper)", [](Dataset& self, Dataset::AsyncMap function) { return self.map(function); }>(dataset);
  method<"Dataset.filter(predicate)",
         [](Dataset& self, Dataset::AsyncPredicate predicate) { return self.filter(predicate); }>(dataset);
  method<"Dataset.batch(size, drop_remainder?)",
         [](Dataset& self, std::int64_t size, bool drop) { return self.batch(size, drop); }>(dataset);
  method<"Dataset.unbatch()", [](Dataset& self) { return self.unbatch(); }>(dataset);
  method<"Dataset.shuffle(buffer_size, options?)", [](Dataset& self, std::int64_t size, DatasetShuffleOptions options) {
    return self.shuffle(size, options);
  }>(dataset);
  method<"Dataset.repeat(count?)",
         [](Dataset& self, std::optional<std::int64_t> count) { return self.repeat(count.value_or(-1)); }>(dataset);
  method<"Dataset.take(count)", [](Dataset& self, std::int64_t count) { return self.take(count); }>(dataset);
  method<"Dataset.skip(count)", [](Dataset& self, std::int64_t count) { return self.skip(count); }>(dataset);
  method<"Dataset.cache()", [](Dataset& self) { return self.cache(); }>(dataset);
  method<"Dataset.prefetch(count)", [](Dataset& self, std::int64_t count) { return self.prefetch(count); }>(dataset);
  method<"Dataset.concatenate(other)", [](Dataset& self, Dataset other) { return self.concatenate(other); }>(dataset);
  method<"Dataset.interleave(expand, cycle_length?, block_length?)",
         [](Dataset& self, Dataset::AsyncExpand function, std::optional<std::int64_t> cycle_length,
            std::optional<std::int64_t> block_length) {
           return self.interleave(function, cycle_length.value_or(2), block_length.value_or(1));
         }>(dataset);
  method<"Dataset.flat_map(expand)",
         [](Dataset& self, Dataset::AsyncExpand function) { return self.interleave(function, 1); }>(dataset);
  method<"Dataset.shard(num_shards, index)",
         [](Dataset& self, std::int64_t shards, std::int64_t index) { return self.shard(shards, index); }>(dataset);
  method<"Dataset.assert_cardinality(cardinality)",
         [](Dataset& self, std::int64_t cardinality) { return self.assert_cardinality(cardinality); }>(dataset);
  method<"Dataset.cardinality()", [](Dataset& self) { return self.cardinality(); }>(dataset);
  method<"Dataset.iterator(iteration?)", [](Dataset& self, std::optional<std::uint32_t> iteration) {
    return std::make_shared<DatasetIterator>(self, iteration.value_or(0));
  }>(dataset);

  auto iterator = held<DatasetIterator>();
  method<"DatasetIterator.state()", [](DatasetIterator& self) { return self.state(); }>(iterator);
  method<"DatasetIterator.restore(state)",
         [](DatasetIterator& self, std::vector<std::int64_t> state) { self.restore(state); }>(iterator);
  bind<"data.next(iterator)", [](IteratorPtr iterator) { return next(std::move(iterator)); }>();

  auto preprocessing = held<PreprocessingLayer, emscripten::base<Layer>>();
  method<"PreprocessingLayer.adapt(data)", [](PreprocessingLayer& self, AdaptData data) {
    return MethodTask{adapt(std::static_pointer_cast<PreprocessingLayer>(self.shared_from_this()), data.value)};
  }>(preprocessing);

  bind<"data.from_tensor_slices(arrays)", [](Batch arrays) { return Dataset::from_tensor_slices(arrays); }>();
  bind<"data.from_array_likes(columns)", [](val columns) {
    const auto all = [&](const char* name) {
      return from_js<std::vector<ArrayLikePtr>>(columns[name], {"data", name});
    };
    return Dataset::from_array_likes(all("x"), all("y"), all("sampleWeight"));
  }>();
  bind<"data.from_iterators(make)", [](val make) {
    return Dataset::from_sources(
        [make]() -> std::unique_ptr<BatchSource> { return std::make_unique<JavaScriptSource>(call(make)); });
  }>();
  bind<"data.csv(open, options)", [](val open, CsvOptions options) {
    return csv_dataset(
        [open]() -> std::unique_ptr<ByteSource> { return std::make_unique<JavaScriptPieces>(call(open)); }, options,
        true);
  }>();
  bind<"data.range(begin, end, step)",
       [](std::int64_t begin, std::int64_t end, std::int64_t step) { return Dataset::range(begin, end, step); }>();
  bind<"data.zip(datasets)", [](std::vector<Dataset> datasets) { return Dataset::zip(datasets); }>();
  bind<"parse_npy(bytes)", [](std::vector<std::byte> bytes) { return parse_npy(bytes); }>();
  bind<"parse_idx(bytes)", [](std::vector<std::byte> bytes) {
    check(!is_gzip(bytes), ErrorKind::data, "parseIdx",
          "gzipped bytes - expected them unpacked - await et.data.gunzip(bytes), or use et.data.readIdx().");
    return parse_idx(bytes);
  }>();
  bind<"parse_npz(bytes, limit?)", [](std::vector<std::byte> bytes, std::optional<double> limit) {
    if (!limit) return parse_npz(bytes, "readNpz");
    check(*limit >= 0 && *limit < 0x1p63, ErrorKind::value, "readNpz", "limit = ", *limit,
          " - expected a number of bytes - pass one that is larger than the arrays.");
    return parse_npz(bytes, "readNpz", static_cast<std::uint64_t>(*limit));
  }>();
  bind<"parse_cifar10(bytes)", [](std::vector<std::byte> bytes) { return parse_cifar10(bytes); }>();
  bind<"parse_cifar100(bytes, label_mode?)", [](std::vector<std::byte> bytes, std::optional<std::string> label_mode) {
    return parse_cifar100(bytes, label_mode.value_or("fine"));
  }>();
}

}  // namespace etude::js
