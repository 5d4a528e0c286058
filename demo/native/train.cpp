// Trains a convolutional network or a small transformer on Fashion-MNIST. The command line sets devices and replicas:
// ./train --model transformer --device /gpu:0 --replicas 2 --checkpoints folder
#include <CLI/CLI.hpp>
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;

/// Probabilities are computed in float32, even after layers of half precision.
LayerPtr classes() { return layers::dense({.units = 10, .activation = "softmax", .dtype = "float32"}); }

std::unique_ptr<Model> convolutional() {
  return std::make_unique<Sequential>(std::vector<LayerPtr>{
      layers::rescaling({.scale = 1 / 255.0}), layers::conv2d({.filters = 32, .kernel_size = 3, .activation = "relu"}),
      layers::max_pooling2d({.pool_size = 2}), layers::conv2d({.filters = 64, .kernel_size = 3, .activation = "relu"}),
      layers::max_pooling2d({.pool_size = 2}), layers::flatten(), layers::dense({.units = 128, .activation = "relu"}),
      layers::dropout(0.5), classes()});
}

/// An image is read as 28 steps of 28 features, by one block that normalizes before it attends.
std::unique_ptr<Model> transformer() {
  const SymbolicTensor image = layers::input({.shape = {28, 28}});
  const SymbolicTensor rows = layers::rescaling({.scale = 1 / 255.0})->apply(image);
  const SymbolicTensor x = layers::dense({.units = 64})->apply(rows);
  const SymbolicTensor even = layers::layer_normalization()->apply(x);
  const SymbolicTensor attended = layers::multi_head_attention({.num_heads = 4, .key_dim = 16})->apply({even, even});
  const SymbolicTensor y = layers::add()->apply({x, attended});
  const SymbolicTensor wide =
      layers::dense({.units = 128, .activation = "relu"})->apply(layers::layer_normalization()->apply(y));
  const SymbolicTensor z = layers::add()->apply({y, layers::dense({.units = 64})->apply(wide)});
  const SymbolicTensor pooled = layers::global_average_pooling1d()->apply(z);
  return std::make_unique<Functional>(std::vector{image}, std::vector{classes()->apply(pooled)});
}

struct Flags {
  std::string model = "cnn2", dtype_policy = "float32", checkpoints, trace, data = "/usr/share/datasets/fashion-mnist";
  std::vector<std::string> devices;
  int epochs = 5, replicas = 1;
  std::int64_t batch_size = 64, steps_per_epoch = 0;
  bool list_devices = false;
};

StrategyPtr strategy_for(const Flags& flags) {
  std::vector<std::reference_wrapper<Device>> devices;
  for (const std::string& name : flags.devices) devices.emplace_back(device(name));
  if (devices.empty()) devices.emplace_back(default_device());
  if (devices.size() == 1) devices.resize(static_cast<std::size_t>(flags.replicas), devices.front());
  if (devices.size() == 1) return std::make_shared<OneDeviceStrategy>(devices.front());
  return std::make_shared<MirroredStrategy>(
      MirroredOptions{.replicas = flags.replicas == 1 ? 0 : flags.replicas, .devices = devices});
}

void train(const Flags& flags) {
  const bool flat = flags.model == "transformer";
  const auto images = [&](const std::string& file) {
    const Tensor x = read_idx(flags.data + "/" + file);
    return flat ? x : x.reshape({x.shape()[0], 28, 28, 1});
  };
  const Tensor x = images("train-images-idx3-ubyte.gz"), x_test = images("t10k-images-idx3-ubyte.gz");
  const Tensor y = read_idx(flags.data + "/train-labels-idx1-ubyte.gz"),
               y_test = read_idx(flags.data + "/t10k-labels-idx1-ubyte.gz");

  set_random_seed(42);
  set_dtype_policy(flags.dtype_policy);
  const StrategyPtr strategy = strategy_for(flags);
  const auto scope = strategy->scope();
  std::printf("%s on", flags.model.c_str());
  for (int replica = 0; replica < strategy->num_replicas_in_sync(); ++replica)
    std::printf(" %s", std::string(strategy->device_name(replica)).c_str());
  std::printf("\n");
  const std::unique_ptr<Model> model = flat ? transformer() : convolutional();
  model->compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});

  FitOptions options{.batch_size = flags.batch_size, .epochs = flags.epochs};
  if (flags.steps_per_epoch > 0) options.steps_per_epoch = flags.steps_per_epoch;
  if (!flags.checkpoints.empty())  // an interrupted training continues from its checkpoint
    options.callbacks.push_back(
        std::make_shared<BackupAndRestore>(BackupAndRestoreOptions{.backup_dir = flags.checkpoints}));
  if (!flags.trace.empty())  // not of the first steps, which are compiled
    options.callbacks.push_back(
        callbacks::profiler({.filepath = flags.trace, .profiling_start = 20, .profiling_end = 30}));
  model->fit(x, y, options);
  const Logs test = model->evaluate(x_test, y_test, {.batch_size = 256, .verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", test["loss"], test["accuracy"]);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{"Trains a model on Fashion-MNIST."};
  app.add_option("--model", flags.model, "cnn2 or transformer")
      ->check(CLI::IsMember({"cnn2", "transformer"}))
      ->capture_default_str();
  app.add_option(
         "--device", flags.devices,
         "where to train: /cpu:0, /gpu:0, or several with a replica each: /gpu:0,/gpu:1; the first GPU, if there "
         "is one, by default")
      ->delimiter(',');
  app.add_option("--dtype-policy", flags.dtype_policy,
                 "dtype in which layers compute: float32, mixed_bfloat16 or mixed_float16; half precision is for GPUs")
      ->capture_default_str();
  app.add_option("--replicas", flags.replicas, "replicas on a single device")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--epochs", flags.epochs, "passes over the data")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch-size", flags.batch_size, "images per step, for all replicas together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps-per-epoch", flags.steps_per_epoch, "steps per epoch; default: all images");
  app.add_option("--checkpoints", flags.checkpoints, "folder for the state after each epoch");
  app.add_option("--trace", flags.trace, "file for a trace of steps 20 to 29, for Perfetto");
  app.add_option("--data", flags.data, "the folder of Fashion-MNIST's four files")->capture_default_str();
  app.add_flag("--list-devices", flags.list_devices, "print the devices of this machine");
  CLI11_PARSE(app, argc, argv);
  try {
    if (flags.list_devices)
      for (const DeviceInfo& one : devices()) std::printf("%s  %s\n", one.name.c_str(), one.model.c_str());
    else
      train(flags);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
