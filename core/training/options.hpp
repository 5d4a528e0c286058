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
#include "etude/data/data.hpp"
#include "etude/losses/loss.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/optimizers/optimizer.hpp"
#include "etude/training/callback.hpp"
#include "etude/training/per_output.hpp"

namespace etude {

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
  /// Steps between two looks of callbacks at the loop; on a GPU they are one launch.
  std::int64_t steps_per_execution = 1;
  /// Whether an optimizer that scales no loss begins to, where a layer computes in float16: gradients would vanish.
  bool auto_scale_loss = true;
  /// Whether a crossentropy behind a softmax or sigmoid is computed from logits.
  bool fuse_logits = true;
  /// Whether each step is traced twice and the traces are compared: an error names the op with which a random number,
  /// the time or another number that the step's own code computes anew became a constant.
  bool check_trace = false;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("optimizer", self.optimizer);
    visit("loss", self.loss);
    visit("loss_weights", self.loss_weights);
    visit("metrics", self.metrics);
    visit("weighted_metrics", self.weighted_metrics);
    visit("run_eagerly", self.run_eagerly);
    visit("steps_per_execution", self.steps_per_execution);
    visit("auto_scale_loss", self.auto_scale_loss);
    visit("fuse_logits", self.fuse_logits);
    visit("check_trace", self.check_trace);
  }
};

/// Gives others their turn, as host_yield() does: asked after each execution, and with true after each epoch.
using GiveTurn = std::function<PendingPtr(bool epoch_over)>;

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
  /// -1: an epoch without end (L-17).
  std::optional<std::int64_t> steps_per_epoch = {};
  std::optional<std::int64_t> validation_steps = {};
  std::optional<std::int64_t> validation_batch_size = {};
  ValidationFrequency validation_freq = 1;
  /// How many batches of a Sequence there may be ahead.
  std::int64_t max_queue_size = 10;
  /// Up to 1: batches are made when they are needed. More: a Sequence is read by so many threads, a generator by one;
  /// where there are no threads, so many batches of a Sequence are asked for at a time.
  int workers = 1;
  /// Instead of host_yield(), for this fit.
  GiveTurn give_turn = {};

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
    visit("max_queue_size", self.max_queue_size);
    visit("workers", self.workers);
  }
};

/// What train_on_batch and test_on_batch are told besides the batch.
struct BatchOptions {
  /// false: metrics go on from the last call.
  bool reset_metrics = true;
  /// As fit's.
  ClassWeight class_weight = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("reset_metrics", self.reset_metrics);
    visit("class_weight", self.class_weight);
  }
};

struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};
  /// As fit's.
  std::int64_t max_queue_size = 10;
  int workers = 1;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("batch_size", self.batch_size);
    visit("verbose", self.verbose);
    visit("steps", self.steps);
    visit("callbacks", self.callbacks);
    visit("max_queue_size", self.max_queue_size);
    visit("workers", self.workers);
  }
};

struct PredictOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};
  /// As fit's.
  std::int64_t max_queue_size = 10;
  int workers = 1;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("batch_size", self.batch_size);
    visit("verbose", self.verbose);
    visit("steps", self.steps);
    visit("callbacks", self.callbacks);
    visit("max_queue_size", self.max_queue_size);
    visit("workers", self.workers);
  }
};

}  // namespace etude
