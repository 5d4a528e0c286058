#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint_samples.hpp"
#include "config_samples.hpp"
#include "etude/etude.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Every place of a config with every kind of value: an object is created, or an Error gives the reason; nothing else is
// thrown.

using namespace etude;
using nlohmann::json;
using testing::error_of;
using testing::FilesInMemory;
using testing::kind_of;

namespace {

const std::vector<json>& odd_values() {
  static const std::vector<json> values = [] {
    std::vector<json> result;
    for (const char* text : {"null",
                             "true",
                             "-1",
                             "0",
                             "1.5",
                             "1e15",
                             "1e300",
                             "-1e300",
                             "4611686018427387904",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "9223372036854775808",
                             "18446744073709551615",
                             "\"\"",
                             "\"x\"",
                             "[]",
                             "[[]]",
                             "[null]",
                             "[-1]",
                             "[1, 2, 3]",
                             "[1e300]",
                             "[9223372036854775807, 9223372036854775807]",
                             "{}",
                             "{\"class_name\": 5}",
                             "{\"class_name\": \"Zeros\", \"config\": []}",
                             "{\"x\": {\"x\": []}}"})
      result.push_back(json::parse(text));
    json deep = json::array();
    for (int i = 0; i < 40; ++i) deep = json::array({deep});
    result.push_back(std::move(deep));
    return result;
  }();
  return values;
}

/// In WebAssembly, where tests are compiled without optimization, every fifth change.
#ifdef __EMSCRIPTEN__
constexpr int stride = 5;
#else
constexpr int stride = 1;
#endif

/// Whether `action` succeeded, threw an Error, or ran out of memory.
template <class Action> bool behaves(Action&& action) {
  try {
    action();
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  } catch (...) {
    return false;
  }
  return true;
}

void use(const Layer& layer) {
  for (const Shape& shape : {Shape{-1, 4}, Shape{-1, 5, 4}, Shape{-1, 6, 6, 4}})
    behaves([&] {
      const auto again = std::dynamic_pointer_cast<Layer>(from_json<Layer>(to_json<Layer>(layer)));
      Sequential({again}).build(shape);
    });
}
template <class T> void use(const T&) {}

template <class T> void check_each_field() {
  for (const std::string& class_name : class_names<T>()) {
    const json good = {{"class_name", class_name}, {"config", samples::needed(class_name)}};
    const json config = json::parse(to_json(*from_json<T>(good.dump())))["config"];
    int number = 0;
    for (const auto& [field, value] : config.items())
      for (const json& odd : odd_values()) {
        if (number++ % stride) continue;
        json changed = {{"class_name", class_name}, {"config", config}};
        changed["config"][field] = odd;
        const bool well = behaves([&] {
          const auto object = from_json<T>(changed.dump());
          to_json(*object);
          use(*object);
        });
        if (!well) FAIL(changed.dump());
      }
  }
}

/// The places in a JSON text: all its members and elements, at any depth.
void add_places(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& places) {
  if (!at.empty()) places.push_back(at);
  if (value.is_object())
    for (const auto& [name, member] : value.items()) add_places(member, at / name, places);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) add_places(value[i], at / i, places);
}

/// Calls visit(changed) with each value in each place, and with each place removed; in the quick form with every fifth
/// change.
template <class Visit> void for_each_change(const json& good, Visit&& visit) {
  const int step = testing::rounds(5 * stride, 1);
  int number = 0;
  std::vector<json::json_pointer> places;
  add_places(good, json::json_pointer(), places);
  for (const json::json_pointer& place : places) {
    for (const json& odd : odd_values()) {
      if (number++ % step) continue;
      json changed = good;
      changed[place] = odd;
      visit(changed);
    }
    if (number++ % step) continue;
    json without = good;
    json& parent = without[place.parent_pointer()];
    if (parent.is_object()) parent.erase(place.back());
    visit(without);
  }
}

std::shared_ptr<Model> described() {
  const SymbolicTensor x = layers::input({.shape = {4}, .name = "x"}), z = layers::input({.shape = {4}, .name = "z"});
  const LayerPtr shared = layers::dense({.units = 3, .activation = "relu", .name = "shared"});
  const LayerPtr inner = std::make_shared<Sequential>(
      std::vector<LayerPtr>{layers::dropout({.rate = 0.5, .name = "drop"}), layers::batch_normalization()});
  const SymbolicTensor sum = layers::add()->apply({shared->apply(x), shared->apply(z)});
  return std::make_shared<Functional>(std::vector{x, z},
                                      std::vector{inner->apply(sum), layers::dense({.units = 1})->apply(sum)});
}

}  // namespace

TEST_CASE("a field of any class with any value is read, or refused by an Error", "[config]") {
  check_each_field<Layer>();
  check_each_field<Loss>();
  check_each_field<Metric>();
  check_each_field<Optimizer>();
  check_each_field<LearningRateSchedule>();
  check_each_field<Initializer>();
  check_each_field<Regularizer>();
  check_each_field<Constraint>();
}

TEST_CASE("a number that JSON does not have is an Error", "[config]") {
  for (const char* number : {"NaN", "-Infinity", "1e999", "0x10", "01", "+1", "1.", "--1"})
    CHECK(kind_of([&] {
            from_json<Layer>(std::string(R"({"class_name": "Dense", "config": {"units": )") + number + "}}");
          }) == ErrorKind::data);
}

TEST_CASE("the JSON of a model with any value in any place makes a model, or is refused by an Error",
          "[config][reliability]") {
  Sequential outer({layers::dense({.units = 3}), layers::dropout(0.5)});
  outer.build({-1, 4});
  for (const std::string& text : {to_json<Layer>(*described()), to_json<Layer>(outer)})
    for_each_change(json::parse(text), [](const json& changed) {
      const std::string given = changed.dump();
      if (!behaves([&] { to_json<Layer>(*model_from_json(given)); })) FAIL(given);
    });
}

TEST_CASE("a saved model's config with any value in any place is loaded, or refused by an Error",
          "[saving][reliability]") {
  const FilesInMemory scope;
  const auto model = described();
  model->compile({.optimizer = optimizers::adam(
                      {.learning_rate = schedules::cosine_decay({.initial_learning_rate = 0.1, .decay_steps = 10})}),
                  .loss = PerOutput<Choice<Loss>>(std::vector<Choice<Loss>>{"mse", losses::huber()}),
                  .metrics = {"mae"}});
  model->layers().back()->set_trainable(false);
  model->save("model");
  const std::optional<Checkpoint> good = load_newest_checkpoint("model");
  const json config = json::parse(good->document("config"));
  CHECK(config.contains("compiled_trainable"));
  CheckpointStore store("changed", {.keep_newest = 1});
  std::size_t loaded = 0, refused = 0;
  for_each_change(config, [&](const json& changed) {
    Checkpoint checkpoint = *good;
    checkpoint.documents = {{"config", changed.dump()}};
    store.save(checkpoint);
    const bool well = behaves([&] {
      ++refused;
      load_model("changed");
      --refused;
      ++loaded;
    });
    if (!well) FAIL(changed.dump());
  });
  CHECK(loaded > 50 / stride);
  CHECK(refused > 500 / stride);
}

TEST_CASE("text that is not UTF-8 is an Error where a layer is named, not where it is saved", "[config]") {
  for (const std::string name :
       {"\xED\xA0\x80", "a\xFF", "\xC0\xAF", "\xE2\x82", "\xF5\x80\x80\x80", "\xF0\x80\x80\xAF"})
    CHECK(error_of([&] { layers::dense({.units = 1, .name = name}); }) ==
          "[Dense] a name that is not UTF-8 - expected whole characters - use another name.");
  for (const std::string name : {"naïve", "層", "🎹", "a/b c"})
    CHECK(layers::dense({.units = 1, .name = name})->name() == name);
}
