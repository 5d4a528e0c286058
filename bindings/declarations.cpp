/// The program that declares the module for TypeScript. It is linked with --emit-tsd, and prints the types of all
/// options and of the functions that make objects, which the build of web/ writes into options.d.mts. Pages do not
/// download it.
#ifdef ETUDE_DECLARATIONS
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bind.hpp"
#include "option_types.hpp"

namespace etude::js {

std::string declared_fields(std::span<const FieldRow> rows, void* defaults) {
  std::string text;
  for (const FieldRow& row : rows) {
    const std::string name(row.name());
    const OptionType& type = option_type({name.c_str(), row.member, row.type, row.required}, {"declarations", name});
    const void* option = row.member(defaults);
    const bool is_verbose = row.type == field_type<int> && name == "verbose";
    const bool has_auto = is_verbose && *static_cast<const int*>(option) == -1;
    const std::string value = has_auto ? "'auto'" : type.text(option);
    text.append("  /** ")
        .append(spelled(row.text))
        .append(row.required || value.empty() ? "" : " Default: " + value + '.')
        .append(" */\n  ");
    text += camel_case(name);
    const std::string given = (has_auto ? "0 | 1 | 2 | 'auto'" : type.given()) + (is_verbose ? " | boolean" : "");
    text += row.required ? ": " + given + ";\n" : "?: " + given + " | undefined;\n";
  }
  return text;
}

namespace {

/// The TypeScript type of a class's objects.
template <class Product> std::string product_name() {
  if constexpr (std::is_base_of_v<Recurrent, Product>)
    return "Recurrent";
  else if constexpr (std::is_base_of_v<PreprocessingLayer, Product>)
    return "PreprocessingLayer";
  else if constexpr (std::is_base_of_v<VocabularyLayer, Product>)
    return "VocabularyLayer";
  else if constexpr (std::is_base_of_v<StringLayer, Product>)
    return "StringLayer";
  else if constexpr (std::is_same_v<Product, MultiHeadAttention> || std::is_same_v<Product, GroupedQueryAttention> ||
                     std::is_same_v<Product, ReversibleEmbedding> || std::is_same_v<Product, Mean> ||
                     std::is_same_v<Product, Sum> || std::is_same_v<Product, EarlyStopping> ||
                     std::is_same_v<Product, OperationalMetrics>)
    return class_name<Product>();
  else
    return class_name<typename Product::Kind>();
}

using Json = nlohmann::ordered_json;

/// `et.layers.dense({ units: 3 })` for the config `{"units": 3}` of layers.dense.
std::string example_call(const std::string& factory, const Json& config);

/// A value of an example config, as JavaScript. A config with a class_name is a layer.
std::string example_value(const Json& value) {
  if (value.is_array()) {
    std::string text;
    for (const Json& element : value) text.append(text.empty() ? "" : ", ").append(example_value(element));
    return '[' + text + ']';
  }
  if (value.is_string()) return '\'' + value.get<std::string>() + '\'';
  if (!value.is_object() || !value.contains("class_name")) return value.dump();
  const ClassEntry* entry = class_table<Layer>().find(value["class_name"].get<std::string>());
  return example_call("layers." + camel_case(entry->factory), value["config"]);
}

std::string example_call(const std::string& factory, const Json& config) {
  std::string options;
  for (const auto& [name, value] : config.items())
    options.append(options.empty() ? "" : ", ").append(camel_case(name)).append(": ").append(example_value(value));
  return "et." + factory + (options.empty() ? "()" : "({ " + options + " })");
}

/// Whether an object is created without options. A class that needs a function, or HTTP, has no example.
template <class Class> bool needs_no_options() {
  try {
    make_object<Class>(OptionsOf<Class>());
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <class Class> void declare_class(std::string& text, const std::string& family) {
  using Options = OptionsOf<Class>;
  using Product = typename decltype(make_object<Class>(std::declval<Options>()))::element_type;
  const auto& fields = fields_of<Options>;
  const std::string factory = camel_case(class_entry<Class>.factory);
  const Json config = Json::parse(Class::about.example);
  text.append("  /**\n   * ").append(spelled(Class::about.text));
  if (!config.empty() || needs_no_options<Class>())
    text.append("\n   * @example ").append(example_call(family + '.' + factory, config));
  text.append("\n   */\n  ").append(factory);
  text += fields.empty() ? "()"
                         : (std::ranges::any_of(fields, &Field::required) ? "(options: " : "(options?: ") +
                               declared_options<Options>() + ')';
  text += ": " + product_name<Product>() + ";\n";
}
template <class... Classes>
void declare_classes(ClassList<Classes...>, std::string& text, const std::string& family) {
  (declare_class<Classes>(text, family), ...);
}

/// Prints an interface of the functions that make objects of these classes.
template <class Classes> void declare_family(const char* name) {
  std::string text, family = name;
  family.front() = static_cast<char>(std::tolower(family.front()));
  declare_classes(Classes{}, text, family);
  declarations()[name] = std::string("export interface ") + name + " {\n" + text + "}\n";
}

void declare_families() {
  declare_family<layers::Layers>("Layers");
  declare_family<losses::Losses>("Losses");
  declare_family<metrics::Metrics>("Metrics");
  declare_family<optimizers::Optimizers>("Optimizers");
  declare_family<schedules::Schedules>("Schedules");
  declare_family<initializers::Initializers>("Initializers");
  declare_family<regularizers::Regularizers>("Regularizers");
  declare_family<constraints::Constraints>("Constraints");
  declare_family<callbacks::Callbacks>("Callbacks");
}

/// Prints a TypeScript type of names that also accepts other strings.
void print_names(const char* type, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += "'" + name + "' | ";
  std::printf("export type %s = %s(string & {});\n", type, text.c_str());
}

template <class Kind> void print_names(const char* type) {
  std::vector<std::string> all;
  for (const ClassEntry* entry : class_table<Kind>().entries())
    if (std::ranges::none_of(entry->fields, &Field::required))
      for (const std::string& name : names_of(*entry)) all.push_back(name);
  print_names(type, all);
}

void print_all_names() {
  print_names<Activation>("ActivationName");
  print_names<Constraint>("ConstraintName");
  print_names<Initializer>("InitializerName");
  print_names<Loss>("LossName");
  print_names<Metric>("MetricName");
  print_names<Optimizer>("OptimizerName");
  print_names<Regularizer>("RegularizerName");
}

}  // namespace
}  // namespace etude::js

int main() {
  etude::js::declare_families();
  etude::js::print_all_names();
  for (const auto& [name, declaration] : etude::js::declarations()) std::puts(declaration.c_str());
}
#endif
