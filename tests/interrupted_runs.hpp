#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint_samples.hpp"
#include "etude/base/detail/crc32c.hpp"
#include "training_samples.hpp"

/// A training script that is interrupted and started again.
namespace etude::samples {

enum class DataKind { arrays, cut_arrays, shuffled_batches, dataset, filtered, sequence, generator };
inline constexpr int data_kinds = 7;

/// Sets the random seed during its lifetime: other tests use other seeds.
class RandomSeed {
 public:
  explicit RandomSeed(std::uint64_t seed) { set_random_seed(seed); }
  ~RandomSeed() { set_random_seed(before_); }
  RandomSeed(const RandomSeed&) = delete;
  RandomSeed& operator=(const RandomSeed&) = delete;

 private:
  std::uint64_t before_ = random_seed();
};

/// The exception that interrupts a run.
struct Interruption {};

/// Counts the hooks, and interrupts at number `at`: throws.
class Interrupter : public Callback {
 public:
  explicit Interrupter(std::optional<int> at) : at_(at) {}
  int hooks() const { return hooks_; }

  void on_train_begin(Logs&) override { count(); }
  void on_epoch_begin(int, Logs&) override { count(); }
  void on_epoch_end(int, Logs&) override { count(); }
  void on_train_batch_begin(std::int64_t, Logs&) override { count(); }
  void on_train_batch_end(std::int64_t, Logs&) override { count(); }
  void on_test_batch_end(std::int64_t, Logs&) override { count(); }
  void on_train_end(Logs&) override { count(); }

 protected:
  virtual void interrupt() { throw Interruption{}; }

 private:
  void count() {
    if (hooks_++ == at_) interrupt();
  }
  std::optional<int> at_;
  int hooks_ = 0;
};

/// Batches by number.
class BatchesByNumber : public Sequence {
 public:
  BatchesByNumber(Tensor x, Tensor y) : x_(std::move(x)), y_(std::move(y)) {}
  std::int64_t size() const override { return (x_.shape()[0] + 7) / 8; }
  Batch batch(std::int64_t index) override {
    const std::int64_t end = std::min(8 * index + 8, x_.shape()[0]);
    return {{x_.rows(8 * index, end)}, {y_.rows(8 * index, end)}, {}};
  }

 private:
  Tensor x_, y_;
};

/// The results of a run.
struct Outcome {
  std::vector<Tensor> variables;
  std::vector<int> epochs;
  std::vector<std::pair<std::string, std::vector<double>>> history;
  std::string csv;
  int hooks = 0;

  /// A hash that requires all of it to be equal.
  std::int64_t fingerprint() const {
    std::string bytes = csv;
    const auto add = [&](const void* begin, std::size_t size) { bytes.append(static_cast<const char*>(begin), size); };
    for (const Tensor& variable : variables) add(variable.raw(), variable.bytes());
    for (const auto& [name, values] : history) add(values.data(), values.size() * sizeof(double));
    return crc32c(bytes);
  }

  friend bool operator==(const Outcome& a, const Outcome& b) {
    bool same = a.epochs == b.epochs && a.csv == b.csv && a.variables.size() == b.variables.size() &&
                a.history.size() == b.history.size();
    for (std::size_t i = 0; same && i < a.history.size(); ++i) {
      const auto& [name, values] = a.history[i];
      const auto& [other, others] = b.history[i];
      same = name == other && values.size() == others.size() &&
             std::memcmp(values.data(), others.data(), values.size() * sizeof(double)) == 0;
    }
    for (std::size_t i = 0; same && i < a.variables.size(); ++i)
      same = a.variables[i].shape() == b.variables[i].shape() && a.variables[i].dtype() == b.variables[i].dtype() &&
             std::memcmp(a.variables[i].raw(), b.variables[i].raw(), a.variables[i].bytes()) == 0;
    return same;
  }
};

/// Each run creates everything anew, like a restarted program: a model with BatchNormalization and Dropout, data,
/// callbacks with state.
struct Script {
  std::string optimizer = "sgd";
  DataKind data = DataKind::arrays;
  std::int64_t steps_per_execution = 1;
  BackupAndRestoreOptions backup = {};
  std::uint64_t seed = 7;
  int epochs = 4;
  int patience = 2;
  bool run_eagerly = false;
  std::vector<CallbackPtr> further = {};

  /// Runs to the end; throws Interruption at hook number `interrupt_at`.
  Outcome run(std::optional<int> interrupt_at = {}) const;
  /// Runs repeatedly: each run except the last is interrupted at such a hook.
  Outcome run_through(const std::vector<int>& interruptions) const {
    for (const int at : interruptions) {
      try {
        return run(at);  // it has ended before
      } catch (const Interruption&) {
      }
    }
    return run();
  }

 private:
  Data make_data() const;
  Choice<Optimizer> make_optimizer() const;
};

inline Choice<Optimizer> Script::make_optimizer() const {
  if (optimizer == "momentum") return optimizers::sgd({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true});
  if (optimizer == "ema") return optimizers::adam({.use_ema = true, .ema_momentum = 0.9});
  return optimizer;
}

inline Data Script::make_data() const {
  const Tensor x = waves({44, 5}), y = signs_of(x);
  const auto slices = Dataset::from_tensor_slices({{x}, {y}, {}}).shuffle(16, {.seed = seed});
  const auto halved = [](Batch element) {
    for (float& number : element.x[0].data<float>()) number /= 2;
    return element;
  };
  switch (data) {
    case DataKind::dataset:
      return slices.map([&](Batch element) { return halved({{element.x[0].clone()}, element.y, {}}); })
          .batch(8)
          .prefetch(2);
    case DataKind::filtered:
      return slices.filter([](const Batch& element) { return element.x[0].at(0) < 0.9; }).batch(8);
    case DataKind::sequence: return std::make_shared<BatchesByNumber>(x, y);
    case DataKind::generator: return batches_of(x, y, 8, 1000);
    default: return Data(x, y);
  }
}

inline Outcome Script::run(std::optional<int> interrupt_at) const {
  const RandomSeed of_this_run(seed);
  reset_names();
  Sequential model({layers::dense({.units = 6, .activation = "relu"}), layers::batch_normalization(),
                    layers::dropout({.rate = 0.3}), layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = make_optimizer(),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"},
                 .run_eagerly = run_eagerly,
                 .steps_per_execution = steps_per_execution});
  const auto files = std::make_shared<MemoryVfs>();
  const auto interrupter = std::make_shared<Interrupter>(interrupt_at);
  FitOptions options{
      .epochs = epochs,
      .verbose = 0,
      .callbacks = {interrupter, callbacks::reduce_lr_on_plateau({.monitor = "loss", .patience = 1}),
                    callbacks::early_stopping({.patience = patience, .restore_best_weights = true}),
                    callbacks::csv_logger({.filename = "log.csv", .open = [&](const std::string& path, bool append) {
                                             return files->open(path, append);
                                           }})}};
  options.callbacks.insert(options.callbacks.end(), further.begin(), further.end());
  if (!backup.backup_dir.empty()) options.callbacks.push_back(callbacks::backup_and_restore(backup));
  const Tensor x = waves({12, 5}, 0.5);
  options.validation_data = Data(x, signs_of(x));
  if (data == DataKind::arrays) options.batch_size = 8;
  if (data == DataKind::cut_arrays) options.steps_per_epoch = 4, options.batch_size = 8;
  if (data == DataKind::shuffled_batches) options.shuffle = "batch", options.batch_size = 8;
  if (data == DataKind::generator) {
    options.steps_per_epoch = 5;
    options.validation_data = Data(batches_of(x, signs_of(x), 4, 1000));
    options.validation_steps = 2;
  }
  const HistoryPtr history = model.fit(make_data(), options);

  Outcome outcome{{}, history->epoch(), history->history(), {}, interrupter->hooks()};
  for (const Variable& variable : model.variables()) outcome.variables.push_back(variable.value());
  for (const Variable& variable : model.optimizer().variables()) outcome.variables.push_back(variable.value());
  const std::vector<std::byte> csv = files->read("log.csv");
  outcome.csv.assign(reinterpret_cast<const char*>(csv.data()), csv.size());
  return outcome;
}

/// Calls a function of the model after every step, and at the end of every epoch.
class Meddler : public Callback {
 public:
  std::function<void(Model&, std::int64_t step)> after_step = {};
  std::function<void(Model&, int epoch)> after_epoch = {};
  void on_train_batch_end(std::int64_t step, Logs&) override {
    if (after_step) after_step(model(), step);
  }
  void on_epoch_end(int epoch, Logs&) override {
    if (after_epoch) after_epoch(model(), epoch);
  }
};

inline std::shared_ptr<Meddler> after_step(std::function<void(Model&, std::int64_t)> action) {
  auto meddler = std::make_shared<Meddler>();
  meddler->after_step = std::move(action);
  return meddler;
}

/// The folder of a script's backup, and its warnings.
struct Backup {
  std::shared_ptr<MemoryVfs> files = std::make_shared<MemoryVfs>();
  testing::Warnings warnings = {};
  BackupAndRestoreOptions options(SaveFrequency save_freq = "epoch") {
    return {.backup_dir = "backup", .save_freq = save_freq, .files = files, .warn = warnings.sink()};
  }
  std::vector<std::string> checkpoints() const {
    std::vector<std::string> names;
    if (!files->exists("backup")) return names;
    for (const std::string& name : files->list("backup"))
      if (name.starts_with("ckpt-")) names.push_back(name);
    return names;
  }
  /// Flips a bit of the weights of a checkpoint.
  void damage(const std::string& checkpoint) const {
    const std::string path = "backup/" + checkpoint + "/model.safetensors";
    std::vector<std::byte> bytes = files->read(path);
    bytes.back() ^= std::byte{1};
    files->open(path, false)->append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
};

}  // namespace etude::samples
