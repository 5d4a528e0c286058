#include "data.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

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

/// A kind of data, or a form of columns, that web/src/kinds.ts distinguishes, and how it is read. The functions are
/// called by address, so that each may be left out of a module.
template <class T> struct ReadKind {
  std::string_view name;
  T (*read)(const val& given, const Where& where);
};

template <class T>
T of_kind(std::span<const ReadKind<T>> kinds, const val& name, const val& given, const Where& where) {
  const auto found = std::ranges::find(kinds, name.as<std::string>(), &ReadKind<T>::name);
  check(found != kinds.end(), ErrorKind::internal, where.function, "data of an unknown kind - expected one of ",
        kinds.size(), " kinds - this is a fault in Étude.");
  return found->read(given, where);
}

Column tensor_column(const val& given, const Where& where) { return from_js<Tensor>(given, where); }
Column list_column(const val& given, const Where& where) { return List(from_js<Tensor>(given, where)); }
Column lazy_column(const val& given, const Where& where) {
  return std::shared_ptr<ArrayLike>(std::make_shared<JavaScriptArray>(given, where));
}
Column ragged_column(const val& given, const Where& where) {
  return RaggedTensor(from_js<Tensor>(given["values"], where.of("values")),
                      from_js<std::vector<std::int64_t>>(given["rowSplits"], where.of("rowSplits")));
}
Column sparse_column(const val& given, const Where& where) {
  return CsrMatrix(from_js<std::int64_t>(given["columns"], where.of("columns")),
                   from_js<Tensor>(given["values"], where.of("values")),
                   from_js<std::vector<std::int64_t>>(given["columnOf"], where.of("columnOf")),
                   from_js<std::vector<std::int64_t>>(given["rowSplits"], where.of("rowSplits")));
}
constexpr ReadKind<Column> column_forms[] = {{"tensor", tensor_column},
                                             {"list", list_column},
                                             {"array", lazy_column},
                                             {"ragged", ragged_column},
                                             {"csr", sparse_column}};

Data columns_data(const val& given, const Where& where) {
  return Columns{from_js<ColumnGroup>(given["x"], where.of("x")), from_js<ColumnGroup>(given["y"], where.of("y")),
                 from_js<ColumnGroup>(given["sampleWeight"], where.of("sampleWeight"))};
}
Data dataset_data(const val& given, const Where& where) { return from_js<Dataset>(given, where); }
Data generator_data(const val& given, const Where&) {
  return std::unique_ptr<BatchSource>(std::make_unique<JavaScriptSource>(given));
}
Data sequence_data(const val& given, const Where& where) {
  return std::shared_ptr<Sequence>(from_js<SequencePtr>(given, where));
}
Data creator_data(const val& given, const Where&) {
  return DatasetCreator{[given](const InputContext& context) {
    val described = val::object();
    described.set("numInputPipelines", static_cast<double>(context.num_input_pipelines));
    described.set("inputPipelineId", static_cast<double>(context.input_pipeline_id));
    described.set("numReplicasInSync", static_cast<double>(context.num_replicas_in_sync));
    return from_js<Dataset>(call(given, described), {"DatasetCreator", "the result"});
  }};
}
constexpr ReadKind<Data> data_kinds[] = {{"columns", columns_data},
                                         {"dataset", dataset_data},
                                         {"generator", generator_data},
                                         {"sequence", sequence_data},
                                         {"creator", creator_data}};

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
  return of_kind<Column>(column_forms, value["form"], value["value"], where);
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
  return of_kind<Data>(data_kinds, data["kind"], data["value"], where);
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
