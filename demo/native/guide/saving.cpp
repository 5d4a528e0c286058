// Saving: a whole model, its weights, its description, a model with a custom class; checkpoints during training, and a
// fit that continues after an interruption.
#include <etude/etude.hpp>

#include <filesystem>
#include <stdexcept>

#include "samples.hpp"

using namespace etude;

std::vector<LayerPtr> two_layers() {
  set_random_seed(7);
  return {layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})};
}

struct ScaleOptions {
  double factor = 1;
  std::string name = {}, dtype = {};
  bool trainable = true;
  static constexpr auto fields() {
    return option_rows(option<&ScaleOptions::factor>("Factor of the inputs."), layer_fields<ScaleOptions>());
  }
};

/// x times a number.
class Scale : public Layer {
 public:
  using Options = ScaleOptions;
  static constexpr ClassText about{"Scale", "Multiplies its inputs by a number."};
  explicit Scale(ScaleOptions options) : Layer(class_entry<Scale>, options), factor_(options.factor) {}
  Value call(Value x, bool) override { return x * factor_; }

 private:
  double factor_;
};

/// Interrupts fit, as a crash would.
class Interruption : public Callback {
 public:
  void on_epoch_begin(int epoch, Logs&) override {
    if (epoch == 3) throw std::runtime_error("interrupted");
  }
};

int main() {
  const auto [x, y] = guide::samples(1000);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "etude-guide-saving";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);

  Sequential model(two_layers());
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(x, y, {.epochs = 2, .verbose = 2});

  // The model, its compile options, and the state of its optimizer.
  model.save(folder / "model");
  const ModelPtr loaded = load_model(folder / "model");
  guide::report("loaded", *loaded->fit(x, y, {.epochs = 4, .verbose = 2, .initial_epoch = 2}));

  // The same in one file, which Keras 3 loads; load_model also loads files that Keras saved.
  model.save(folder / "model.keras");
  const ModelPtr of_file = load_model(folder / "model.keras");
  std::printf("file: loss=%.5f\n", of_file->evaluate(x, y, {.verbose = 0})["loss"]);

  // The same from bytes.
  const ModelPtr of_bytes = load_model(read_file(folder / "model.keras"));
  std::printf("bytes: loss=%.5f\n", of_bytes->evaluate(x, y, {.verbose = 0})["loss"]);

  // The layers and the weights, for TensorFlow.js.
  model.save(folder / "tfjs/model.json");
  const ModelPtr of_tfjs = load_model(folder / "tfjs/model.json");
  std::printf("tfjs: parameters=%lld\n", static_cast<long long>(of_tfjs->count_params()));

  // Only the weights.
  model.save_weights(folder / "weights.safetensors");
  Sequential same(two_layers());
  same.build({-1, 8});
  same.load_weights(folder / "weights.safetensors");
  same.compile({.loss = "mse"});
  std::printf("weights: loss=%.5f\n", same.evaluate(x, y, {.verbose = 0})["loss"]);

  // The layers without weights, in Keras's format.
  const ModelPtr described = model_from_json(to_json<Layer>(model));
  std::printf("described: parameters=%lld\n", static_cast<long long>(described->count_params()));

  // A model with a layer of a custom class, which has a name in the folder.
  register_class<Scale>("guide");
  set_random_seed(9);
  Sequential scaled({std::make_shared<Scale>(ScaleOptions{.factor = 0.5}), layers::dense({.units = 1})});
  scaled.compile({.loss = "mse"});
  scaled.build({-1, 8});
  scaled.save(folder / "scaled");
  std::printf("custom: loss=%.5f\n", load_model(folder / "scaled")->evaluate(x, y, {.verbose = 0})["loss"]);

  // The best weights during training.
  model.fit(x, y,
            {.epochs = 2,
             .verbose = 2,
             .callbacks = {callbacks::model_checkpoint({.filepath = folder / "best.safetensors",
                                                        .monitor = "loss",
                                                        .save_best_only = true,
                                                        .save_weights_only = true})}});

  // The same program, started again, continues from there to the same bits.
  const CallbackPtr backup = callbacks::backup_and_restore({.backup_dir = folder / "backup"});
  Sequential interrupted(two_layers());
  interrupted.compile({.optimizer = "adam", .loss = "mse"});
  try {
    interrupted.fit(x, y, {.epochs = 5, .verbose = 2, .callbacks = {std::make_shared<Interruption>(), backup}});
  } catch (const std::runtime_error& error) {
    std::printf("%s\n", error.what());
  }
  Sequential again(two_layers());
  again.compile({.optimizer = "adam", .loss = "mse"});
  guide::report("resumed", *again.fit(x, y, {.epochs = 5, .verbose = 2, .callbacks = {backup}}));
  std::filesystem::remove_all(folder);
}
