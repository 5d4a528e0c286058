#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/data/class_weight.hpp"
#include "etude/data/data_adapter.hpp"
#include "etude/data/generator_adapter.hpp"
#include "etude/data/tensor_like_adapter.hpp"
#include "etude/losses/loss.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/optimizers/optimizer.hpp"
#include "etude/training/callback.hpp"
#include "etude/training/per_output.hpp"

namespace etude {

/// What fit, evaluate and predict read: arrays, or a generator of batches. Copies share the arrays and the generator.
class Data {
 public:
  Data(Batch arrays) : arrays_(std::make_shared<Batch>(std::move(arrays))) {}
  Data(Tensor x) : Data(Batch{{std::move(x)}, {}, {}}) {}
  Data(Tensor x, Tensor y) : Data(Batch{{std::move(x)}, {std::move(y)}, {}}) {}
  Data(Tensor x, Tensor y, Tensor sample_weight)
      : Data(Batch{{std::move(x)}, {std::move(y)}, {std::move(sample_weight)}}) {}
  Data(Generator generator, GeneratorOptions options = {});
  /// A source of another language, used up by the first loop that reads it.
  Data(std::unique_ptr<BatchSource> source);

  bool is_arrays() const { return arrays_ != nullptr; }
  /// The arrays; only if is_arrays().
  const Batch& arrays() const { return *arrays_; }
  std::unique_ptr<DataAdapter> adapter(const TensorLikeOptions& options) const;

 private:
  std::shared_ptr<const Batch> arrays_;
  std::function<std::unique_ptr<DataAdapter>()> make_;
};

/// fit's shuffle: true, false or "batch" (L-31).
class ShuffleChoice {
 public:
  ShuffleChoice(bool shuffle) : shuffle_(shuffle ? Shuffle::samples : Shuffle::none) {}
  /// Throws Error(value) unless it is "batch".
  ShuffleChoice(const char* name);
  Shuffle shuffle() const { return shuffle_; }

 private:
  Shuffle shuffle_;
};

/// Every how many epochs, or after which ones (counted from 1), there is a validation (L-10).
class ValidationFrequency {
 public:
  /// Throws Error(value) for less than 1.
  ValidationFrequency(int every);
  ValidationFrequency(std::vector<int> epochs) : epochs_(std::move(epochs)) {}
  bool due(int epoch) const;
  int every() const { return every_; }

 private:
  int every_ = 0;
  std::vector<int> epochs_;
};

struct CompileOptions {
  Choice<Optimizer> optimizer = "rmsprop";
  /// Of all outputs, or of each in their order, or by their names; an output without a loss is not trained.
  PerOutput<Choice<Loss>> loss = {};
  /// What each output's loss counts; default 1.
  PerOutput<double> loss_weights = {};
  MetricChoices metrics = {};
  /// Metrics that sample_weight and class_weight weigh.
  MetricChoices weighted_metrics = {};
  bool run_eagerly = false;
  /// Steps between two looks of callbacks at the loop.
  std::int64_t steps_per_execution = 1;
  /// Whether a crossentropy behind a softmax or sigmoid is computed from logits.
  bool fuse_logits = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("optimizer", self.optimizer);
    visit("loss", self.loss);
    visit("loss_weights", self.loss_weights);
    visit("metrics", self.metrics);
    visit("weighted_metrics", self.weighted_metrics);
    visit("run_eagerly", self.run_eagerly);
    visit("steps_per_execution", self.steps_per_execution);
    visit("fuse_logits", self.fuse_logits);
  }
};

struct FitOptions {
  std::optional<std::int64_t> batch_size = {};
  int epochs = 1;
  /// 0: silent, 1: a bar, 2: a line per epoch, -1: Keras's "auto", which is 1.
  int verbose = -1;
  std::vector<CallbackPtr> callbacks = {};
  double validation_split = 0;
  std::optional<Data> validation_data = {};
  ShuffleChoice shuffle = true;
  /// What samples of each class count in the loss and in weighted metrics; 1 for classes that are not named (L-33).
  ClassWeight class_weight = {};
  int initial_epoch = 0;
  std::optional<std::int64_t> steps_per_epoch = {};
  std::optional<std::int64_t> validation_steps = {};
  std::optional<std::int64_t> validation_batch_size = {};
  ValidationFrequency validation_freq = 1;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("batch_size", self.batch_size);
    visit("epochs", self.epochs);
    visit("verbose", self.verbose);
    visit("callbacks", self.callbacks);
    visit("validation_split", self.validation_split);
    visit("validation_data", self.validation_data);
    visit("shuffle", self.shuffle);
    visit("class_weight", self.class_weight);
    visit("initial_epoch", self.initial_epoch);
    visit("steps_per_epoch", self.steps_per_epoch);
    visit("validation_steps", self.validation_steps);
    visit("validation_batch_size", self.validation_batch_size);
    visit("validation_freq", self.validation_freq);
  }
};

struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("batch_size", self.batch_size);
    visit("verbose", self.verbose);
    visit("steps", self.steps);
    visit("callbacks", self.callbacks);
  }
};

struct PredictOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("batch_size", self.batch_size);
    visit("verbose", self.verbose);
    visit("steps", self.steps);
    visit("callbacks", self.callbacks);
  }
};

}  // namespace etude
