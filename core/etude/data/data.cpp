#include "etude/data/data.hpp"

#include <algorithm>
#include <array>

#include "etude/base/error.hpp"
#include "etude/data/detail/lists_adapter.hpp"

namespace etude {
namespace {

using Form = Column::Form;

std::vector<Form> forms_of(const Columns& columns) {
  std::vector<Form> forms;
  for (const auto* group : {&columns.x, &columns.y, &columns.sample_weight})
    for (const Column& column : *group) forms.push_back(column.form());
  return forms;
}

/// Whether there is at least one array of this form, and no array of another form; `with_tensors` allows tensors too.
bool of_form(const Data& data, Form form, bool with_tensors) {
  const Columns* columns = std::get_if<Columns>(&data.kind());
  if (!columns) return false;
  const std::vector<Form> forms = forms_of(*columns);
  const bool one = std::ranges::find(forms, form) != forms.end() || (forms.empty() && form == Form::tensor);
  return one &&
         std::ranges::all_of(forms, [&](Form each) { return each == form || (with_tensors && each == Form::tensor); });
}

ColumnGroup columns_of(const std::vector<Tensor>& tensors) {
  return std::vector<Column>(tensors.begin(), tensors.end());
}

ArrayLikes array_likes_of(const Columns& columns) {
  ArrayLikes arrays;
  for (const Column& column : columns.x) arrays.x.push_back(column.rows());
  for (const Column& column : columns.y) arrays.y.push_back(column.rows());
  for (const Column& column : columns.sample_weight) arrays.sample_weight.push_back(column.rows());
  arrays.names = names_of(columns);
  return arrays;
}

void check_no_batch_size(const Data& data, const AdapterOptions& options) {
  check(!options.rows.batch_size, ErrorKind::value, "Data", "batch_size = ", options.rows.batch_size.value_or(0),
        " with ", data.to_string(),
        " - The `batch_size` argument must not be specified for data that comes in batches - omit it.");
}

template <class Adapter>
std::unique_ptr<DataAdapter> of_arrays(const Data& data, const AdapterOptions& options) {
  return std::make_unique<Adapter>(data.arrays(), options.rows);
}

std::unique_ptr<DataAdapter> of_rows(const Data& data, const AdapterOptions& options) {
  return std::make_unique<ArrayLikeAdapter>(array_likes_of(std::get<Columns>(data.kind())), options.rows);
}

std::unique_ptr<DataAdapter> of_dataset(const Data& data, const AdapterOptions& options) {
  check_no_batch_size(data, options);
  return std::make_unique<DatasetAdapter>(std::get<Dataset>(data.kind()), options.rows.steps);
}

std::unique_ptr<DataAdapter> of_generator(const Data& data, const AdapterOptions& options) {
  check_no_batch_size(data, options);
  if (const auto* generated = std::get_if<Data::Generated>(&data.kind())) {
    GeneratorOptions how = generated->options;
    if (options.workers > 1) how.workers = std::max(how.workers, 1);
    return std::make_unique<GeneratorAdapter>(generated->generator, how);
  }
  const auto& source = std::get<Data::Source>(data.kind());
  check(*source != nullptr, ErrorKind::state, "Data",
        "an exhausted generator - expected a new one for each fit, evaluate or predict - "
        "create a new generator.");
  return std::make_unique<GeneratorAdapter>(std::move(*source));
}

std::unique_ptr<DataAdapter> of_sequence(const Data& data, const AdapterOptions& options) {
  check_no_batch_size(data, options);
  return std::make_unique<SequenceAdapter>(std::get<SequencePtr>(data.kind()),
                                           SequenceOptions{options.rows.shuffle != Shuffle::none, options.rows.seed,
                                                           options.workers, options.max_queue_size});
}

std::unique_ptr<DataAdapter> of_creator(const Data& data, const AdapterOptions& options) {
  check_no_batch_size(data, options);
  return std::make_unique<DatasetCreatorAdapter>(std::get<DatasetCreator>(data.kind()), options.rows.steps,
                                                 options.context);
}

bool is_generator(const Data& data) {
  return std::holds_alternative<Data::Generated>(data.kind()) || std::holds_alternative<Data::Source>(data.kind());
}

}  // namespace

Data::Data(Batch arrays)
    : kind_(Columns{columns_of(arrays.x), columns_of(arrays.y), columns_of(arrays.sample_weight)}),
      arrays_(std::make_shared<Batch>(std::move(arrays))) {}

Data::Data(Columns columns) : kind_(std::move(columns)) {
  const Columns& given = std::get<Columns>(kind_);
  if (!of_form(*this, Form::tensor, false) && !of_form(*this, Form::list, false)) return;
  arrays_ = std::make_shared<Batch>(named_batch(given.x, given.y, given.sample_weight));
}

std::string Data::to_string() const {
  const auto forms = [](const Columns& columns) {
    constexpr std::array names{"a tensor", "a list", "an array-like", "a sparse or ragged one"};
    std::string text;
    for (const Form form : forms_of(columns))
      text += (text.empty() ? "" : ", ") + std::string(names[static_cast<std::size_t>(form)]);
    return text.empty() ? "nothing" : text;
  };
  if (const auto* columns = std::get_if<Columns>(&kind_)) return forms(*columns);
  if (is_generator(*this)) return "a generator";
  if (std::holds_alternative<Dataset>(kind_)) return "a Dataset";
  return std::holds_alternative<SequencePtr>(kind_) ? "a Sequence" : "a DatasetCreator";
}

std::unique_ptr<DataAdapter> Data::adapter(const AdapterOptions& options) const {
  return select_data_adapter(*this).make(*this, options);
}

std::span<const AdapterKind> adapter_kinds() {
  static constexpr std::array<AdapterKind, 8> kinds{{
      {"ListsAdapter", [](const Data& data) { return of_form(data, Form::list, false); }, of_arrays<ListsAdapter>},
      {"TensorLikeAdapter", [](const Data& data) { return of_form(data, Form::tensor, false); },
       of_arrays<TensorLikeAdapter>},
      {"ArrayLikeAdapter", [](const Data& data) { return of_form(data, Form::array_like, true); }, of_rows},
      {"DatasetAdapter", [](const Data& data) { return std::holds_alternative<Dataset>(data.kind()); }, of_dataset},
      {"GeneratorAdapter", is_generator, of_generator},
      {"SequenceAdapter", [](const Data& data) { return std::holds_alternative<SequencePtr>(data.kind()); },
       of_sequence},
      {"CompositeAdapter", [](const Data& data) { return of_form(data, Form::composite, true); }, of_rows},
      {"DatasetCreatorAdapter", [](const Data& data) { return std::holds_alternative<DatasetCreator>(data.kind()); },
       of_creator},
  }};
  return kinds;
}

const AdapterKind& select_data_adapter(const Data& data, std::span<const AdapterKind> kinds) {
  const AdapterKind* found = nullptr;
  for (const AdapterKind& kind : kinds) {
    if (!kind.can_handle(data)) continue;
    check(!found, ErrorKind::internal, "Data",
          "Data adapters should be mutually exclusive for handling inputs: ", found ? found->name : "", " and ",
          kind.name, " both take ", data.to_string(), " - expected one adapter - this is a fault in Étude.");
    found = &kind;
  }
  check(found != nullptr, ErrorKind::data, "Data",
        "Failed to find data adapter that can handle input: ", data.to_string(),
        " - expected all tensors, or all lists, or array-likes or sparse arrays beside tensors - "
        "convert some of them.");
  return *found;
}

}  // namespace etude
