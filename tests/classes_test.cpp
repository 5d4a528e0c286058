// The table of classes: the description of each class.
#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "class_lists.hpp"
#include "etude/etude.hpp"
#include "support.hpp"

using namespace etude;
using nlohmann::json;
using testing::each_class_of_all;
using testing::each_described_class;
using testing::error_of;
using testing::Tag;

namespace {

template <class Class>
using KindOf = typename decltype(make_object<Class>(std::declval<OptionsOf<Class>>()))::element_type::Kind;

/// The entries of all tables.
std::vector<const ClassEntry*> all_entries() {
  std::vector<const ClassEntry*> all;
  const auto add = [&](const ClassTable& table) {
    all.insert(all.end(), table.entries().begin(), table.entries().end());
  };
  add(class_table<Layer>());
  add(class_table<Loss>());
  add(class_table<Metric>());
  add(class_table<Optimizer>());
  add(class_table<LearningRateSchedule>());
  add(class_table<Initializer>());
  add(class_table<Regularizer>());
  add(class_table<Constraint>());
  add(class_table<Callback>());
  return all;
}

bool is_sentence(std::string_view text) {
  return text.size() > 3 && text.ends_with('.') && !text.starts_with(' ') && text.find("  ") == text.npos;
}

}  // namespace

TEST_CASE("every class of a table is found by its name, its factory's and its aliases", "[classes]") {
  for (const ClassEntry* entry : class_table<Loss>().entries()) {
    CAPTURE(entry->class_name);
    CHECK(&class_table<Loss>().of_class(entry->class_name) == entry);
    CHECK(&class_table<Loss>().named(entry->class_name) == entry);
    for (const std::string& name : names_of(*entry)) CHECK(&class_table<Loss>().named(name) == entry);
  }
  CHECK(&class_table<Loss>().named("MSE") == &class_entry<losses::MeanSquaredError>);
  CHECK(&class_table<Optimizer>().named("adamw") == &class_entry<optimizers::AdamW>);
  CHECK(error_of([] { class_table<Regularizer>().named("l3"); }) ==
        "[regularizer] \"l3\" - expected one of: l1, l2, l1_l2, orthogonal - choose one of them, or pass an object.");
}

TEST_CASE("the name of a factory is that of its class in snake_case, as Keras writes it", "[classes]") {
  CHECK(snake_case("MaxPooling2D") == "max_pooling2d");
  CHECK(snake_case("GlobalAveragePooling1D") == "global_average_pooling1d");
  CHECK(snake_case("KLDivergence") == "kl_divergence");
  CHECK(snake_case("CSVLogger") == "csv_logger");
  CHECK(snake_case("L1L2") == "l1_l2");
  CHECK(snake_case("Conv2D1x1") == "conv2d1x1");  // as in Keras
  CHECK(snake_case("ConvLSTM2D") == "conv_lstm2d");
  CHECK(snake_case("GRU") == "gru");
  CHECK(class_entry<Conv2D>.factory == std::string("conv2d"));
  CHECK(class_entry<optimizers::RMSprop>.factory == std::string("rmsprop"));
}

TEST_CASE("every class is in a table", "[classes]") {
  std::set<const ClassEntry*> in_tables;
  for (const ClassEntry* entry : all_entries()) CHECK(in_tables.insert(entry).second);
  std::size_t listed = 0;
  each_class_of_all([&]<class Class>(Tag<Class>) {
    CAPTURE(Class::about.name);
    CHECK(in_tables.contains(&class_entry<Class>));
    ++listed;
  });
  CHECK(listed == in_tables.size());
}

TEST_CASE("every class and every option has a line of documentation", "[classes]") {
  each_class_of_all([]<class Class>(Tag<Class>) {
    CAPTURE(Class::about.name);
    CHECK(is_sentence(Class::about.text));
    for (const FieldRow& row : OptionsOf<Class>::fields()) {
      CAPTURE(row.name());
      CHECK(is_sentence(row.text));
    }
  });
}

TEST_CASE("every class is made from its example's config, and its own config makes it again", "[classes]") {
  each_described_class([]<class Class>(Tag<Class>) {
    using Kind = KindOf<Class>;
    CAPTURE(Class::about.name);
    const json given = json::parse(Class::about.example);
    const auto object = from_json<Kind>(json{{"class_name", Class::about.name}, {"config", given}}.dump());
    const std::string text = to_json<Kind>(*object);
    // The config of a MultiOptimizer has its options in an object within it, as in Keras.
    for (const auto& [name, value] : given.items()) CHECK(text.find('"' + name + "\":") != std::string::npos);
    CHECK(to_json<Kind>(*from_json<Kind>(text)) == text);
  });
}

TEST_CASE("an option has one name and one place in its struct", "[classes]") {
  for (const ClassEntry* entry : all_entries()) {
    CAPTURE(entry->class_name);
    const auto options = entry->options();
    std::set<std::string> names;
    std::set<const void*> places;
    for (const Field& field : entry->fields) {
      CAPTURE(field.name);
      CHECK(names.insert(field.name).second);
      CHECK(places.insert(field.member(options.get())).second);
    }
  }
}

TEST_CASE("Muon refuses numbers that it cannot compute with", "[classes][optimizers]") {
  CHECK(error_of([] { optimizers::muon({.ns_steps = std::int64_t{1} << 62}); }) ==
        "[muon] ns_steps = 4611686018427387904 - expected 1 to 100 - set ns_steps.");
  CHECK(error_of([] { optimizers::muon({.rms_rate = -1}); }).starts_with("[muon] rms_rate = -1 - expected"));
  CHECK(error_of([] { optimizers::muon({.exclude_layers = {"("}}); }).starts_with("[muon] exclude_layers of \"(\": "));
}
