#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/classes/field.hpp"
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
  /// true: samples are shuffled before each epoch.
  ShuffleChoice(bool shuffle) : shuffle_(shuffle ? Shuffle::samples : Shuffle::none) {}
  /// Throws Error(value) unless it is "batch".
  ShuffleChoice(const char* name);
  /// What is shuffled.
  Shuffle shuffle() const { return shuffle_; }

 private:
  Shuffle shuffle_;
};

/// Every how many epochs, or after which ones (counted from 1), there is a validation (L-10).
class ValidationFrequency {
 public:
  /// Throws Error(value) for less than 1.
  ValidationFrequency(int every);
  /// A validation after each of these epochs, counted from 1.
  ValidationFrequency(std::vector<int> epochs) : epochs_(std::move(epochs)) {}
  /// Whether there is a validation after the epoch of that index, which is counted from 0.
  bool due(int epoch) const;
  /// Every how many epochs; 0 where epochs were listed.
  int every() const { return every_; }

 private:
  int every_ = 0;
  std::vector<int> epochs_;
};

/// Options of Model::compile.
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

  static constexpr auto fields() {
    return option_rows(
        option<&CompileOptions::optimizer>("Optimizer, by name or as an object."),
        option<&CompileOptions::loss>("Loss of all outputs, of each in their order, or of each by name."),
        option<&CompileOptions::loss_weights>("Weight of the loss of each output. Default: 1."),
        option<&CompileOptions::metrics>("Metrics of the outputs, which sample weights do not weigh."),
        option<&CompileOptions::weighted_metrics>("Metrics of the outputs that sample_weight and class_weight weigh."),
        option<&CompileOptions::run_eagerly>(
            "Whether each step is traced anew, so that values can be read in it. Slow."),
        option<&CompileOptions::steps_per_execution>("Steps between two calls of the batch hooks of callbacks."),
        option<&CompileOptions::auto_scale_loss>("Whether the loss is scaled where layers compute in float16."),
        option<&CompileOptions::fuse_logits>(
            "Whether a crossentropy behind a softmax or sigmoid is computed from logits."),
        option<&CompileOptions::check_trace>(
            "Whether each step is traced twice and an error names an op that differs."));
  }
};

/// Gives others their turn, as host_yield() does: asked after each execution, and with true after each epoch.
using GiveTurn = std::function<PendingPtr(bool epoch_over)>;

/// Options of Model::fit.
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

  static constexpr auto fields() {
    return option_rows(
        option<&FitOptions::batch_size>("Samples of a batch. Default: 32, or what the data has."),
        option<&FitOptions::epochs>("Epoch at which training ends."),
        option<&FitOptions::verbose>("0: silent, 1: a progress bar, 2: one line per epoch."),
        option<&FitOptions::callbacks>("Callbacks of the loop."),
        option<&FitOptions::validation_split>("Share of the last samples that are kept for validation, from 0 to 1."),
        option<&FitOptions::validation_data>("Data that the model is evaluated on."),
        option<&FitOptions::shuffle>(
            "Whether samples are shuffled before each epoch; \"batch\" shuffles whole batches."),
        option<&FitOptions::class_weight>("Weight of the samples of each class in the loss. Default: 1."),
        option<&FitOptions::initial_epoch>("Number of the first epoch."),
        option<&FitOptions::steps_per_epoch>("Steps of an epoch. Default: until the data ends."),
        option<&FitOptions::validation_steps>("Steps of a validation. Default: until the data ends."),
        option<&FitOptions::validation_batch_size>("Samples of a batch in validation. Default: batch_size."),
        option<&FitOptions::validation_freq>("Epochs between validations, or the epochs after which there is one."),
        option<&FitOptions::max_queue_size>("Batches of a Sequence that are read ahead."),
        option<&FitOptions::workers>("Threads, or requests, that read a Sequence at a time."));
  }
};

/// What train_on_batch and test_on_batch are told besides the batch.
struct BatchOptions {
  /// false: metrics go on from the last call.
  bool reset_metrics = true;
  /// As fit's.
  ClassWeight class_weight = {};

  static constexpr auto fields() {
    return option_rows(
        option<&BatchOptions::reset_metrics>("Whether metrics begin anew."),
        option<&BatchOptions::class_weight>("Weight of the samples of each class in the loss. Default: 1."));
  }
};

/// Options of Model::evaluate.
struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};
  /// As fit's.
  std::int64_t max_queue_size = 10;
  int workers = 1;

  static constexpr auto fields() {
    return option_rows(option<&EvaluateOptions::batch_size>("Samples of a batch. Default: 32, or what the data has."),
                       option<&EvaluateOptions::verbose>("0: silent, 1: a progress bar, 2: one line per epoch."),
                       option<&EvaluateOptions::steps>("Steps of the loop. Default: until the data ends."),
                       option<&EvaluateOptions::callbacks>("Callbacks of the loop."),
                       option<&EvaluateOptions::max_queue_size>("Batches of a Sequence that are read ahead."),
                       option<&EvaluateOptions::workers>("Threads, or requests, that read a Sequence at a time."));
  }
};

/// Options of Model::predict.
struct PredictOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};
  /// As fit's.
  std::int64_t max_queue_size = 10;
  int workers = 1;

  static constexpr auto fields() {
    return option_rows(option<&PredictOptions::batch_size>("Samples of a batch. Default: 32, or what the data has."),
                       option<&PredictOptions::verbose>("0: silent, 1: a progress bar, 2: one line per epoch."),
                       option<&PredictOptions::steps>("Steps of the loop. Default: until the data ends."),
                       option<&PredictOptions::callbacks>("Callbacks of the loop."),
                       option<&PredictOptions::max_queue_size>("Batches of a Sequence that are read ahead."),
                       option<&PredictOptions::workers>("Threads, or requests, that read a Sequence at a time."));
  }
};

}  // namespace etude
