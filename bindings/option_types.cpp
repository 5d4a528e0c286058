#include "option_types.hpp"

#include <algorithm>

#ifdef ETUDE_DECLARATIONS
#include <sstream>

#include "declare.hpp"
#endif

namespace etude::js {
namespace {

template <class T> void read(void* option, const val& value, const Where& where) {
  *static_cast<T*>(option) = from_js<T>(value, where);
}
/// verbose may be true, false or "auto", the default.
template <> void read<int>(void* option, const val& value, const Where& where) {
  auto& number = *static_cast<int*>(option);
  if (where.what == "verbose" && (value.isTrue() || value.isFalse())) return void(number = value.isTrue());
  if (where.what == "verbose" && number == -1 && value.isString() && value.as<std::string>() == "auto") return;
  number = from_js<int>(value, where);
}

#ifdef ETUDE_DECLARATIONS
/// A short text of a value; empty for long ones.
template <class T> std::string text_of(const T& value) {
  std::ostringstream text;
  if constexpr (std::is_same_v<T, bool>)
    text << (value ? "true" : "false");
  else if constexpr (std::is_same_v<T, double>)
    std::isnan(value) ? text : text << value;  // NaN: no value
  else if constexpr (std::is_same_v<T, LearningRate>)
    text << value.number();
  else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Integers> || std::is_same_v<T, Margins>)
    text << value;
  else if constexpr (std::is_same_v<T, std::string>)
    text << (value.empty() ? "" : "'" + value + "'");
  else if constexpr (requires { value.name(); })
    text << (value.name().empty() ? "" : "'" + value.name() + "'");
  return text.str();
}
template <class T> std::string text(const void* option) { return text_of(*static_cast<const T*>(option)); }
template <class T> constexpr OptionType of{field_type<T>, read<T>, Conversion<T>::given, text<T>};
#else
template <class T> constexpr OptionType of{field_type<T>, read<T>};
#endif

constexpr OptionType option_types[] = {
    of<bool>, of<int>, of<std::uint64_t>, of<std::int64_t>, of<std::ptrdiff_t>, of<double>, of<std::string>,
    of<std::optional<std::int64_t>>, of<std::optional<double>>, of<std::optional<std::string>>, of<std::vector<double>>,
    of<std::vector<std::string>>,
    // Options of layers, losses, optimizers.
    of<Integers>, of<Margins>, of<Doubles>, of<Shape>, of<std::optional<Shape>>, of<std::vector<std::int64_t>>,
    of<Activation>, of<Choice<Initializer>>, of<Choice<Regularizer>>, of<Choice<Constraint>>, of<Choice<Optimizer>>,
    of<std::map<std::string, Choice<Optimizer>>>, of<std::optional<std::map<std::string, double>>>, of<LearningRate>,
    of<initializers::ConstantValue>, of<Value>, of<TextStep>, of<NgramSizes>, of<MaskValue>,
    // Options of models and loops.
    of<PerOutput<Choice<Loss>>>, of<PerOutput<double>>, of<MetricChoices>, of<std::vector<CallbackPtr>>,
    of<std::optional<Data>>, of<ShuffleChoice>, of<JitCompile>, of<UseCudnn>, of<Tensor>, of<ValidationFrequency>,
    of<ClassWeight>, of<YieldEvery>, of<std::vector<MetricPtr>>, of<LayerPtr>, of<std::vector<LayerPtr>>,
    of<SymbolicTensors>, of<CallStep>, of<LoggingStep>, of<LossStep>, of<MetricsStep>, of<PredictingStep>,
    of<TrainMaker>, of<PredictMaker>, of<std::vector<Renaming>>,
    // Options of callbacks.
    of<OpenFile>, of<HttpHeaders>, of<HttpTransport>, of<EpochSchedule>, of<UpdateFrequency>, of<SaveFrequency>};

/// Whether JavaScript can give all options of these structs.
template <HasFields... Options> constexpr bool are_listed() {
  const auto is_listed = [](const Field& field) {
    return std::ranges::find(option_types, field.type, &OptionType::type) != std::end(option_types);
  };
  return (std::ranges::all_of(fields_of<Options>, is_listed) && ...);
}
template <class... Classes> constexpr bool are_listed(ClassList<Classes...>) {
  return are_listed<OptionsOf<Classes>...>();
}
static_assert(are_listed(layers::Layers{}) && are_listed(losses::Losses{}) && are_listed(metrics::Metrics{}) &&
              are_listed(optimizers::Optimizers{}) && are_listed(schedules::Schedules{}) &&
              are_listed(initializers::Initializers{}) && are_listed(regularizers::Regularizers{}) &&
              are_listed(constraints::Constraints{}) && are_listed(callbacks::Callbacks{}));
static_assert(
    are_listed<CompileOptions, FitOptions, EvaluateOptions, PredictOptions, BatchOptions, SequentialOptions,
               ModelOptions, FunctionalOptions, SummaryOptions, ExplainOptions, ModelToDotOptions, SaveOptions,
               LoadModelOptions, LoadWeightsOptions, InputOptions, AttentionInputs, CsvOptions, DatasetShuffleOptions,
               utils::NormalizeOptions, utils::PadSequencesOptions, utils::TimeseriesOptions, utils::TextDatasetOptions,
               utils::SplitDatasetOptions, utils::SkipgramsOptions>());

}  // namespace

const OptionType& option_type(const Field& field, const Where& where) {
  const auto* found = std::ranges::find(option_types, field.type, &OptionType::type);
  check(found != std::end(option_types), ErrorKind::state, where.function, field.name,
        " is of a type that JavaScript cannot give - expected one of option_types.cpp - list it there.");
  return *found;
}

void read_options(std::span<const Field> fields, void* options, const val& object, const Where& where) {
  if (object.isUndefined() || object.isNull()) return;
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(camel_case(field.name));
  if (type_of(object) != "object" || object.isArray())
    where.wrong(object, "an object of options",
                names.empty() ? "pass none" : "pass one such as {" + names.front() + ": …}");
  for (const std::string& key : keys(object)) {
    if (std::ranges::find(names, key) != names.end()) continue;
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    fail(ErrorKind::value, where.function, "unknown option \"", key, "\" - expected some of: ", known,
         " - check its spelling.");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const val value = object[names[i]];
    if (value.isUndefined()) continue;
    option_type(fields[i], where).read(fields[i].member(options), value, where.of(names[i]));
  }
}

}  // namespace etude::js
