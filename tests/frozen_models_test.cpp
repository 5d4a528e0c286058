#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "training_samples.hpp"

// The trainable flags of layers are saved with the model.

using namespace etude;
using nlohmann::json;
using samples::filled;
using samples::waves;
using testing::FilesInMemory;

namespace {

using Flags = std::vector<bool>;

Flags flags_of(const Layer& model) {
  Flags flags{model.trainable()};
  for (const LayerPtr& layer : model.layers_inside())
    if (layer->class_name() != "InputLayer") flags.push_back(layer->trainable());
  return flags;
}

LayerPtr unit(bool trainable, std::int64_t units = 3) {
  return layers::dense({.units = units, .trainable = trainable});
}

/// dense (frozen), [dense, dense (frozen)], dropout, batch normalization, dense
ModelPtr nested() {
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{unit(true), unit(false)});
  return std::make_shared<Sequential>(
      std::vector<LayerPtr>{unit(false), inner, layers::dropout(0.1), layers::batch_normalization(), unit(true, 1)});
}

/// dense (frozen) -> a nested model whose layers are frozen, though it is not -> dense
ModelPtr described() {
  const SymbolicTensor x = layers::input({.shape = {3}}), in = layers::input({.shape = {3}});
  const auto inner = std::make_shared<Functional>(std::vector{in}, std::vector{unit(false)->apply(in)});
  return std::make_shared<Functional>(std::vector{x},
                                      std::vector{unit(true, 1)->apply(inner->apply(unit(false)->apply(x)))});
}

const Tensor x = waves({8, 3}), y = filled({8, 1}, 0.5F);

FitOptions quiet(int epochs = 1) { return {.epochs = epochs, .verbose = 0}; }

CompileOptions adam() { return {.optimizer = optimizers::adam({.learning_rate = 0.1}), .loss = "mse"}; }

void check_goes_on(Model& model) {
  model.fit(x, y, quiet());
  model.save("model");
  const ModelPtr loaded = load_model("model");
  CHECK(flags_of(*loaded) == flags_of(model));
  CHECK(loaded->trainable_variables().size() == model.trainable_variables().size());
  loaded->fit(x, y, quiet());
  model.fit(x, y, quiet());
  CHECK(samples::weights_of(*loaded) == samples::weights_of(model));
  CHECK(flags_of(*load_model("model", {.compile = false})) == flags_of(model));
}

}  // namespace

TEST_CASE("frozen layers stay frozen in the loaded model, and trained ones continue with the same bits", "[saving]") {
  const FilesInMemory scope;
  for (const ModelPtr& model : {nested(), described()}) {
    const Flags flags = flags_of(*model);
    model->compile(adam());
    check_goes_on(*model);
    CHECK(flags_of(*model) == flags);
  }
}

TEST_CASE("a model that is saved before it is compiled keeps its frozen layers", "[saving]") {
  const FilesInMemory scope;
  for (const ModelPtr& model : {nested(), described()}) {
    model->build({-1, 3});
    model->save("model");
    CHECK(flags_of(*load_model("model")) == flags_of(*model));
  }
}

TEST_CASE("the JSON of a model has the trainable flag of each layer and each inner model", "[saving]") {
  for (const ModelPtr& model : {nested(), described()}) {
    model->build({-1, 3});
    // All frozen, except one layer: nothing is trained, and all flags are kept.
    for (const bool frozen : {false, true}) {
      if (frozen) {
        model->set_trainable(false);
        model->layers().back()->set_trainable(true);
        CHECK(model->trainable_variables().empty());
      }
      const ModelPtr again = model_from_json(to_json<Layer>(*model));
      CHECK(flags_of(*again) == flags_of(*model));
      CHECK(again->trainable_variables().size() == model->trainable_variables().size());
      CHECK(json::parse(to_json<Layer>(*again))["config"]["trainable"] == !frozen);
    }
  }
}

TEST_CASE("nothing inside a model that is not trainable is trained", "[model]") {
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{unit(true)}, LayerOptions{.trainable = false});
  Sequential model({inner, unit(true, 1)});
  model.build({-1, 3});
  CHECK(inner->layers()[0]->trainable());
  const json by_flag = testing::keras(2, "frozen by its own flag");
  CHECK(inner->trainable_variables().size() == by_flag.at("inner"));
  CHECK(inner->non_trainable_variables().size() == 2);
  CHECK(model.trainable_variables().size() == by_flag.at("model"));
  CHECK(model.non_trainable_variables().size() == 2);

  model.set_trainable(false);
  model.layers()[1]->set_trainable(true);
  const json wanted = testing::keras(2, "frozen");
  CHECK(testing::keras(3, "frozen") == wanted);
  CHECK(model.trainable_variables().size() == wanted.at("model"));
  CHECK(model.non_trainable_variables().size() == wanted.at("all"));
  CHECK(model.layers()[1]->trainable_variables().size() == wanted.at("its layer"));
}

TEST_CASE("a layer that is frozen after compile is saved as frozen, and trained until the model is compiled again",
          "[saving]") {
  const FilesInMemory scope;
  const ModelPtr model = nested();
  model->compile(adam());
  model->fit(x, y, quiet());
  model->layers()[4]->set_trainable(false);  // trainable at compile() (L-28)
  model->layers()[0]->set_trainable(true);   // not trainable at compile()
  check_goes_on(*model);
  const ModelPtr loaded = load_model("model");
  const Tensor first = loaded->layers()[0]->get_weights()[0], last = loaded->layers()[4]->get_weights()[0];
  loaded->fit(x, y, quiet());
  CHECK(testing::same_bits(loaded->layers()[0]->get_weights()[0], first));
  CHECK_FALSE(testing::same_bits(loaded->layers()[4]->get_weights()[0], last));
  const Tensor trained = loaded->layers()[4]->get_weights()[0];
  loaded->compile(adam());
  loaded->fit(x, y, quiet());
  CHECK_FALSE(testing::same_bits(loaded->layers()[0]->get_weights()[0], first));
  CHECK(testing::same_bits(loaded->layers()[4]->get_weights()[0], trained));
}

TEST_CASE("the regularizers of a frozen model add nothing to the loss", "[model]") {
  const auto inner = std::make_shared<Sequential>(
      std::vector<LayerPtr>{
          layers::dense({.units = 3, .kernel_initializer = "ones", .kernel_regularizer = regularizers::l1({.l1 = 1})})},
      LayerOptions{.trainable = false});
  Sequential model({inner, layers::dense({.units = 1, .kernel_initializer = "zeros"})});
  model.compile(samples::mse(0));
  CHECK(model.evaluate(x, filled({8, 1}, 0), {.verbose = 0})["loss"] == 0);
}
