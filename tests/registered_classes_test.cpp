// Classes of users, registered by name: what is written and read, and what register_class refuses.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "custom_samples.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

using namespace etude;
using nlohmann::json;
using samples::waves;
using testing::error_of;
using testing::FilesInMemory;

namespace {

const Tensor x = waves({24, 6}), y = samples::signs_of(x);

FitOptions epochs(int first, int last) {
  return {.batch_size = 8, .epochs = last, .verbose = 0, .initial_epoch = first};
}

/// The complete state of a trained model.
std::vector<Tensor> state_of(const Model& model) {
  std::vector<Tensor> result;
  for (const Variable& variable : model.variables()) result.push_back(variable.value());
  for (const Variable& variable : model.optimizer().variables()) result.push_back(variable.value());
  return result;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), testing::same_bits);
}

/// The names of all logs.
std::vector<std::string> logs_of(const HistoryPtr& history) {
  std::vector<std::string> names;
  for (const auto& [name, values] : history->history()) names.push_back(name);
  return names;
}

/// The registered names of the classes of a config, at any depth.
std::set<std::string> registered_names_in(const json& config) {
  std::set<std::string> names;
  if (config.is_object() && config.value("registered_name", json()).is_string())
    names.insert(config["registered_name"]);
  if (config.is_structured())
    for (const json& inner : config) names.merge(registered_names_in(inner));
  return names;
}

/// A layer whose class is never registered.
struct Unknown : custom::Gain {
  static constexpr ClassText about{"Unknown", "A class that is not registered."};
  explicit Unknown(const custom::GainOptions& options) : Gain(options) { describe({class_entry<Unknown>, options}); }
};

struct Twofold : custom::Power {
  static constexpr ClassText about{"Twofold", "A class with two names."};
  using Power::Power;
};
struct Named : custom::Gain {
  static constexpr ClassText about{"Dense", "A class that is called as one of Étude's."};
  using Gain::Gain;
};
struct Other : custom::Gain {
  static constexpr ClassText about{"Gain", "A second class of the name."};
  using Gain::Gain;
};

struct HiddenOptions {
  double rate = 0;
  std::string name = {};
  static constexpr auto fields() {
    return option_rows(option<&HiddenOptions::rate>("A number."), option<&HiddenOptions::name>("A name."));
  }
};

/// Reads its weights as it is built.
struct Eager : custom::Gain {
  static constexpr ClassText about{"Eager", "Reads its weights as it is built."};
  explicit Eager(const custom::GainOptions& options) : Gain(options) { describe({class_entry<Eager>, options}); }
  void build(const Shape& shape) override {
    Gain::build(shape);
    static_cast<void>(variables().front().value());
  }
};

}  // namespace

TEST_CASE("options of a struct in an unnamed namespace have their names", "[registered_classes]") {
  CHECK(std::string_view(fields_of<HiddenOptions>[0].name) == "rate");
  CHECK(std::string_view(fields_of<HiddenOptions>[1].name) == "name");
}

// The form of Keras 3.15.1 for such a class. Keras adds "build_config", and writes the dtype as a DTypePolicy.
TEST_CASE("a registered class is written in the form of Keras", "[registered_classes]") {
  custom::register_all();
  CHECK(to_json<Layer>(custom::Gain({.factor = 3, .name = "gain"})) ==
        R"({"module":null,"class_name":"Gain","config":{"factor":3.0,"initializer":"ones","regularizer":null,)"
        R"("constraint":null,"name":"gain","dtype":"float32","trainable":true},"registered_name":"custom>Gain"})");
  CHECK(to_json<Loss>(*make_object<custom::Power>({.exponent = 3})) ==
        R"({"module":null,"class_name":"Power","config":{"exponent":3.0,"reduction":"sum_over_batch_size",)"
        R"("name":"power"},"registered_name":"custom>Power"})");
}

TEST_CASE("a registered class is read from the form of Keras", "[registered_classes]") {
  custom::register_all();
  const LayerPtr layer = from_json<Layer>(
      R"({"module": null, "class_name": "Gain", "config": {"name": "gain", "trainable": false, "dtype": {"module":
          "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": null}, "factor": 3.0},
          "registered_name": "custom>Gain", "build_config": {"input_shape": [null, 3]}})");
  CHECK(layer->name() == "gain");
  CHECK_FALSE(layer->trainable());
  CHECK(testing::numbers((*layer)(Tensor::from<float>({1, 2}, {1, -2}))) == std::vector<double>{3, -6});
}

TEST_CASE("objects of registered classes of every kind come back with their options", "[registered_classes]") {
  custom::register_all();
  const auto model = custom::model();
  model->build({-1, 6});
  const std::string text = to_json<Layer>(*model);
  CHECK(registered_names_in(json::parse(text)) ==
        std::set<std::string>{"custom>AtMost", "custom>Filled", "custom>Gain", "custom>Heavy", "custom>Largest",
                              "custom>Power", "custom>Quartic", "custom>Residual", "custom>Slowing"});
  CHECK(to_json<Layer>(*model_from_json(text)) == text);
  const std::string optimizer = to_json<Optimizer>(model->optimizer());
  CHECK(registered_names_in(json::parse(optimizer)) == std::set<std::string>{"custom>Heavy", "custom>Slowing"});
  CHECK(to_json<Optimizer>(*from_json<Optimizer>(optimizer)) == optimizer);
  const std::string metric = to_json<Metric>(*make_object<custom::Largest>({.scale = 2, .name = "twice"}));
  CHECK(json::parse(metric)["config"] == json{{"scale", 2.0}, {"name", "twice"}});
  CHECK(to_json<Metric>(*from_json<Metric>(metric)) == metric);
}

TEST_CASE("a saved and loaded model of registered classes continues training with the same bits",
          "[registered_classes]") {
  custom::register_all();
  const FilesInMemory scope;
  const auto model = custom::model();
  const auto begun = model->fit(x, y, epochs(0, 2));
  CHECK(logs_of(begun) == std::vector<std::string>{"loss", "twice_largest", "largest"});
  model->save("model");
  const ModelPtr loaded = load_model("model");
  CHECK(same(state_of(*loaded), state_of(*model)));
  CHECK(testing::same_bits(loaded->predict(x, {.verbose = 0}), model->predict(x, {.verbose = 0})));
  const auto history = model->fit(x, y, epochs(2, 4)), again = loaded->fit(x, y, epochs(2, 4));
  CHECK(again->history() == history->history());
  CHECK(same(state_of(*loaded), state_of(*model)));
}

TEST_CASE("a Functional model of registered layers is described and cloned", "[registered_classes]") {
  custom::register_all();
  const auto shared = custom::gain();
  const SymbolicTensor in = layers::input({.shape = {6}});
  const SymbolicTensor out = std::make_shared<custom::Residual>(custom::ResidualOptions{.layer = custom::gain()})
                                 ->apply(shared->apply(shared->apply(in)));
  Functional model({in}, {out});
  const ModelPtr twin = model_from_json(to_json<Layer>(model)), clone = clone_model(model);
  for (const ModelPtr& other : {twin, clone}) {
    CHECK(to_json<Layer>(*other) == to_json<Layer>(model));
    CHECK(other->count_params() == model.count_params());
    CHECK(testing::same_bits(other->predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0})));
  }
  CHECK(clone->layers().at(1) != model.layers().at(1));
}

TEST_CASE("a registered name chooses an object where a string may", "[registered_classes]") {
  custom::register_all();
  Sequential model({layers::dense({.units = 1, .kernel_initializer = "custom>Filled"})});
  model.compile({.optimizer = "custom>Heavy", .loss = "custom>Power", .metrics = {"custom>Largest"}});
  const auto history = model.fit(x, y, epochs(0, 1));
  CHECK(logs_of(history) == std::vector<std::string>{"loss", "largest"});
  CHECK(model.optimizer().name() == "heavy");
  // A class with required options, a class of another kind, and a name without its package.
  const auto refused = [](const char* loss) { return error_of([&] { losses::get(loss); }); };
  CHECK(refused("custom>Gain").starts_with("[loss] \"custom>Gain\" - expected one of: "));
  CHECK(refused("Power").starts_with("[loss] \"Power\" - expected one of: "));
  CHECK(refused("m>se").starts_with("[loss] \"m>se\" - expected one of: "));
  CHECK(error_of([] {
          class_table<Layer>().named("custom>Residual");
        }).starts_with("[layer] \"custom>Residual\" - expected one of: "));
}

TEST_CASE("a class with two names is saved under the second, and loaded by both", "[registered_classes]") {
  register_class<Twofold>("custom");
  const std::string first = to_json<Loss>(*make_object<Twofold>({}));
  register_class<Twofold>("custom", "Renamed");
  const std::string second = to_json<Loss>(*make_object<Twofold>({}));
  CHECK(json::parse(first)["registered_name"] == "custom>Twofold");
  CHECK(json::parse(second)["registered_name"] == "custom>Renamed");
  CHECK(json::parse(second)["class_name"] == "Twofold");
  CHECK(to_json<Loss>(*from_json<Loss>(first)) == second);
  CHECK(to_json<Loss>(*from_json<Loss>(second)) == second);
}

TEST_CASE("register_class refuses names of other classes, and invalid names", "[registered_classes]") {
  custom::register_all();
  CHECK(error_of([] { register_class<custom::Gain>("custom"); }) == "no error");
  CHECK(error_of([] { register_class<Other>("custom"); }) ==
        "[register_class] two classes of the name \"custom>Gain\" - expected one - register the second under another "
        "package or name.");
  CHECK(error_of([] { register_class<Other>("custom", "OtherGain"); }) == "no error");
  CHECK(error_of([] { register_class<Named>("custom"); }) ==
        "[register_class] the layer Dense - expected a name that none of Étude's classes has - rename the class in its "
        "`about`.");
  for (const char* wrong : {"", "a>b"}) {
    const std::string start = std::string("[register_class] \"") + wrong + "\" for the layer Gain - expected a package";
    CHECK(error_of([&] { register_class<custom::Gain>(wrong); }).starts_with(start));
    CHECK(error_of([&] { register_class<custom::Gain>("custom", wrong); }).starts_with(start));
  }
}

TEST_CASE("a class that is not registered is neither written nor read, and the Error has advice",
          "[registered_classes]") {
  CHECK(error_of([] { to_json<Layer>(Unknown({})); }) ==
        "[layer] an object of the class Unknown, which is not registered - expected a class of a registered name - "
        "call register_class<Unknown>() first.");
  const auto refused = [](const char* name) {
    const json text{{"class_name", "Gone"}, {"config", json::object()}, {"registered_name", name}};
    return error_of([&] { from_json<Layer>(text.dump()); });
  };
  CHECK(refused("their_package>Gone") ==
        "[layer] the class \"their_package>Gone\", which is not registered - expected a class of a registered name - "
        "call register_class<Gone>(\"their_package\") first.");
  CHECK(refused("their_package>Left").ends_with("call register_class<Gone>(\"their_package\", \"Left\") first."));
  // As Keras writes a class that is not registered.
  CHECK(refused("Gone").starts_with("[layer] class \"Gone\" - expected one of: "));
}

TEST_CASE("a registered class that reads its weights as it is built is an Error when its model is loaded",
          "[registered_classes]") {
  const FilesInMemory files;
  register_class<Eager>("eager");
  Sequential model(std::vector<LayerPtr>{std::make_shared<Eager>(custom::GainOptions{})});
  model.build({-1, 6});
  model.save("eager");
  const std::string error = error_of([] { load_model("eager"); });
  CHECK(error.find("read while its model is loaded") != std::string::npos);
}

TEST_CASE("a registered name is never read as one of Étude's classes", "[registered_classes]") {
  CHECK(error_of([] {
          from_json<Layer>(R"({"class_name": "Dense", "config": {"units": 1}, "registered_name": "theirs>Dense"})");
        }).starts_with("[layer] the class \"theirs>Dense\", which is not registered - "));
}

#ifdef ETUDE_THREADS
TEST_CASE("several threads register classes and look them up", "[registered_classes]") {
  custom::register_all();
  std::vector<int> read(4);
  std::vector<std::thread> threads;
  for (int& count : read)
    threads.emplace_back([&count] {
      for (int i = 0; i < 50; ++i) {
        custom::register_all();
        count += to_json<Loss>(*losses::get("custom>Power")).ends_with("\"custom>Power\"}");
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(read == std::vector<int>(4, 50));
}
#endif
