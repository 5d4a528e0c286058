#include "data.hpp"

#include <cstring>

#include "dicts.hpp"

namespace etude::js {
namespace {

/// An array whose rows JavaScript provides on demand.
class JavaScriptArray : public ArrayLike {
 public:
  JavaScriptArray(val array, const Where& where)
      : array_(std::move(array)),
        shape_(from_js<Shape>(array_["shape"], where.of("shape"))),
        dtype_(from_js<DType>(array_["dtype"], where.of("dtype"))) {}

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return dtype_; }
  bool asynchronous() const override { return true; }
  void read(std::int64_t, std::int64_t, std::byte*) const override {
    fail(ErrorKind::internal, "slice", "rows read at once - expected them to be awaited - this is a fault in Étude.");
  }
  Task<> fetch(std::span<const std::int64_t> indices, std::byte* out) const override {
    for (std::size_t begin = 0, end = 0; begin < indices.size(); begin = end) {
      for (end = begin + 1; end < indices.size() && indices[end] == indices[end - 1] + 1;) ++end;
      const auto first = static_cast<double>(indices[begin]), last = static_cast<double>(indices[end - 1] + 1);
      const val given = co_await settled(call(array_["slice"], first, last));
      const Tensor rows = from_js<Tensor>(given, {"slice", "the rows"}).astype(dtype_);
      Shape expected = shape_;
      expected[0] = static_cast<std::int64_t>(end - begin);
      check(rows.size() == expected.size(), ErrorKind::data, "slice", "rows of shape ", rows.shape(), " - expected ",
            expected, " for slice(", first, ", ", last, ") - return a Tensor of those rows.");
      if (rows.bytes()) std::memcpy(out, rows.raw(), rows.bytes());
      out += rows.bytes();
    }
  }

 private:
  val array_;
  Shape shape_;
  DType dtype_;
};

/// A sequence of batches in JavaScript, with random access.
class JavaScriptSequence : public Sequence {
 public:
  explicit JavaScriptSequence(val sequence) : sequence_(std::move(sequence)) {}

  std::int64_t size() const override { return from_js<std::int64_t>(call(sequence_["size"]), {"Sequence", "length"}); }
  bool asynchronous() const override { return true; }
  Batch batch(std::int64_t) override {
    fail(ErrorKind::internal, "Sequence",
         "a batch made at once - expected it to be awaited - this is a fault in Étude.");
  }
  Task<Batch> fetch(std::int64_t index) override {
    const val given = co_await settled(call(sequence_["getItem"], static_cast<double>(index)));
    co_return from_js<Batch>(call_host("asBatch", given), {"Sequence", "a batch"});
  }
  void on_epoch_end() override { call(sequence_["onEpochEnd"]); }

 private:
  val sequence_;
};

/// A single tensor, or lists and objects of tensors.
val one_or_several(const std::vector<Tensor>& tensors, const std::vector<std::string>& names) {
  if (names.empty() && tensors.size() == 1) return to_js(tensors.front());
  return names.empty() ? to_js(tensors) : packed(names, to_js(tensors));
}

void check_function(const val& function, const Where& where) {
  if (type_of(function) != "function") where.wrong(function, "a function of an element", "pass one");
}

}  // namespace

Task<val> settled(val result) {
  if (!is_promise(result)) co_return result;
  const auto settlement = std::make_shared<Settlement>();
  PendingPtr pending = std::make_unique<PromisePending>(result, settlement);
  co_await std::move(pending);
  co_return settlement->value;
}

PendingPtr JavaScriptIterator::fetch() {
  next_ = std::make_shared<Settlement>();
  const val result = call(iterator_["next"]);
  if (is_promise(result)) return std::make_unique<PromisePending>(result, next_);
  next_->value = result;
  return nullptr;
}

val JavaScriptIterator::consume() {
  if (!next_)
    check(fetch() == nullptr, ErrorKind::state, "generator",
          "a batch that is not there yet - expected fetch() to be awaited - this is a fault in Étude.");
  return std::exchange(next_, nullptr)->value;
}

std::optional<Batch> JavaScriptSource::consume() {
  const val batch = batches_.consume();
  if (batch.isNull()) return std::nullopt;
  return from_js<Batch>(batch, {"generator", "a batch"});
}

ArrayLikePtr Conversion<ArrayLikePtr>::from(const val& value, const Where& where) {
  return std::make_shared<JavaScriptArray>(value, where);
}
SequencePtr Conversion<SequencePtr>::from(const val& value, const Where&) {
  return std::make_shared<JavaScriptSequence>(value);
}

Column Conversion<Column>::from(const val& value, const Where& where) {
  const auto form = value["form"].as<std::string>();
  const val given = value["value"];
  if (form == "tensor") return from_js<Tensor>(given, where);
  if (form == "list") return List(from_js<Tensor>(given, where));
  if (form == "array") return std::shared_ptr<ArrayLike>(std::make_shared<JavaScriptArray>(given, where));
  const auto splits = from_js<std::vector<std::int64_t>>(given["rowSplits"], where.of("rowSplits"));
  Tensor values = from_js<Tensor>(given["values"], where.of("values"));
  if (form == "ragged") return RaggedTensor(std::move(values), splits);
  return CsrMatrix(from_js<std::int64_t>(given["columns"], where.of("columns")), std::move(values),
                   from_js<std::vector<std::int64_t>>(given["columnOf"], where.of("columnOf")), splits);
}

ColumnGroup Conversion<ColumnGroup>::from(const val& value, const Where& where) {
  const auto columns = from_js<std::vector<Column>>(value["columns"], where);
  const auto keys = from_js<std::vector<std::string>>(value["names"], where);
  if (keys.empty()) return columns;
  NamedColumns named;
  for (std::size_t i = 0; i < keys.size(); ++i) named.emplace(keys[i], columns[i]);
  return named;
}

Data Conversion<Data>::from(const val& value, const Where& where) {
  const val data = call_host("asData", value);
  const auto kind = data["kind"].as<std::string>();
  const val given = data["value"];
  if (kind == "dataset") return from_js<Dataset>(given, where);
  if (kind == "generator") return std::unique_ptr<BatchSource>(std::make_unique<JavaScriptSource>(given));
  if (kind == "sequence") return std::shared_ptr<Sequence>(from_js<SequencePtr>(given, where));
  if (kind == "creator")
    return DatasetCreator{[given](const InputContext& context) {
      val described = val::object();
      described.set("numInputPipelines", static_cast<double>(context.num_input_pipelines));
      described.set("inputPipelineId", static_cast<double>(context.input_pipeline_id));
      described.set("numReplicasInSync", static_cast<double>(context.num_replicas_in_sync));
      return from_js<Dataset>(call(given, described), {"DatasetCreator", "the result"});
    }};
  return Columns{from_js<ColumnGroup>(given["x"], where.of("x")), from_js<ColumnGroup>(given["y"], where.of("y")),
                 from_js<ColumnGroup>(given["sampleWeight"], where.of("sampleWeight"))};
}

val Conversion<Batch>::to(const Batch& batch) {
  const BatchNames& names = names_of(batch);
  val element = val::object();
  element.set("x", one_or_several(batch.x, names.x));
  if (!batch.y.empty()) element.set("y", one_or_several(batch.y, names.y));
  if (!batch.sample_weight.empty())
    element.set("sampleWeight", one_or_several(batch.sample_weight, names.sample_weight));
  return element;
}

Dataset Conversion<Dataset>::from(const val& value, const Where& where) {
  if (!value.instanceof(val::module_property("Dataset")))
    where.wrong(value, "a Dataset", "make one, such as et.data.fromTensorSlices({x, y})");
  return *value.as<std::shared_ptr<Dataset>>();
}

Dataset::AsyncMap Conversion<Dataset::AsyncMap>::from(const val& function, const Where& where) {
  check_function(function, where);
  return [function](Batch element) -> Task<Batch> {
    const val result = co_await settled(call(function, to_js(element)));
    co_return from_js<Batch>(call_host("asBatch", result), {"Dataset.map", "the result"});
  };
}
Dataset::AsyncPredicate Conversion<Dataset::AsyncPredicate>::from(const val& function, const Where& where) {
  check_function(function, where);
  return [function](Batch element) -> Task<bool> {
    const val result = co_await settled(call(function, to_js(element)));
    co_return from_js<bool>(result, {"Dataset.filter", "the result"});
  };
}
Dataset::AsyncExpand Conversion<Dataset::AsyncExpand>::from(const val& function, const Where& where) {
  check_function(function, where);
  return [function](Batch element) -> Task<Dataset> {
    const val result = co_await settled(call(function, to_js(element)));
    co_return from_js<Dataset>(result, {"Dataset.interleave", "the result"});
  };
}

}  // namespace etude::js
