#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/classes/auto_choice.hpp"
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
  /// Throws Error(value) for any other string than "batch".
  ShuffleChoice(const char* name);
  /// The items that are shuffled.
  Shuffle shuffle() const { return shuffle_; }

 private:
  Shuffle shuffle_;
};

/// compile's jit_compile: "auto", true or false. Steps are always compiled unless they run eagerly.
class JitCompile : public AutoChoice {
 public:
  using AutoChoice::AutoChoice;
  /// Throws Error(value) for any other string than "auto".
  JitCompile(const char* name) : AutoChoice(name, "compile", "jit_compile") {}
};

/// The number of epochs between validations, or the epochs (counted from 1) after which there is a validation (L-10).
class ValidationFrequency {
 public:
  /// Throws Error(value) for a number below 1.
  ValidationFrequency(int every);
  /// A validation after each of these epochs, counted from 1.
  ValidationFrequency(std::vector<int> epochs) : epochs_(std::move(epochs)) {}
  /// Whether there is a validation after the epoch of that index, which is counted from 0.
  bool due(int epoch) const;
  /// The number of epochs between validations; 0 if the epochs are listed.
  int every() const { return every_; }

 private:
  int every_ = 0;
  std::vector<int> epochs_;
};

/// Options of Model::compile.
struct CompileOptions {
  Choice<Optimizer> optimizer = "rmsprop";
  /// One loss for all outputs, or one for each in order, or losses by the outputs' names. An output without a loss is
  /// not trained.
  PerOutput<Choice<Loss>> loss = {};
  /// The weight of each output's loss; default 1.
  PerOutput<double> loss_weights = {};
  MetricChoices metrics = {};
  /// Metrics that use sample_weight and class_weight.
  MetricChoices weighted_metrics = {};
  bool run_eagerly = false;
  /// The steps per execution, between calls of batch callbacks; on a GPU they are one launch.
  std::int64_t steps_per_execution = 1;
  /// Without effect: steps are always compiled, except with run_eagerly, which wins with a warning.
  JitCompile jit_compile = "auto";
  /// Whether to scale the loss, if a layer computes in float16 and the optimizer does not scale it: otherwise gradients
  /// would underflow.
  bool auto_scale_loss = true;
  /// Whether a crossentropy after a softmax or sigmoid is computed from logits.
  bool fuse_logits = true;
  /// Whether each step is traced twice and the traces are compared. An error names the op in which a random number, the
  /// time or another number from the step's own code became a constant.
  bool check_trace = false;

  template <class O = CompileOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::optimizer>("Optimizer, by name or as an object."),
        option<&O::loss>("Loss of all outputs, of each in their order, or of each by name."),
        option<&O::loss_weights>("Weight of the loss of each output. Default: 1."),
        option<&O::metrics>("Metrics of the outputs, without sample weights."),
        option<&O::weighted_metrics>("Metrics of the outputs, weighted by sample_weight and class_weight."),
        option<&O::run_eagerly>("Whether each step is traced again, so that values can be read in it. This is slow."),
        option<&O::steps_per_execution>("Steps between two calls of the batch hooks of callbacks."),
        option<&O::jit_compile>(
            "\"auto\", true or false, without effect: steps are compiled unless they run eagerly. Default: 'auto'."),
        option<&O::auto_scale_loss>("Whether the loss is scaled if layers compute in float16."),
        option<&O::fuse_logits>("Whether a crossentropy after a softmax or sigmoid is computed from logits."),
        option<&O::check_trace>("Whether each step is traced twice; an error names an op that differs."));
  }
};

/// Yields to other work, as host().yield does. Called after each execution, and with true after each epoch.
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
  /// The weights of the samples of each class in the loss and in weighted metrics; 1 for classes that are missing
  /// (L-33).
  ClassWeight class_weight = {};
  int initial_epoch = 0;
  /// -1: an infinite epoch (L-17).
  std::optional<std::int64_t> steps_per_epoch = {};
  std::optional<std::int64_t> validation_steps = {};
  std::optional<std::int64_t> validation_batch_size = {};
  ValidationFrequency validation_freq = 1;
  /// The most batches of a Sequence that are made in advance.
  std::int64_t max_queue_size = 10;
  /// Up to 1: batches are made on demand. More: this number of threads reads a Sequence, and one thread a generator;
  /// without support for threads, it is the number of concurrent requests to a Sequence.
  int workers = 1;
  /// Without effect: workers are threads, or requests.
  bool use_multiprocessing = false;
  /// Replaces host().yield in this fit.
  GiveTurn give_turn = {};

  template <class O = FitOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::batch_size>("Samples of a batch. Default: 32, or that of the data."),
        option<&O::epochs>("Epoch at which training ends."),
        option<&O::verbose>("0: silent, 1: a progress bar, 2: one line per epoch."),
        option<&O::callbacks>("Callbacks of the loop."),
        option<&O::validation_split>(
            "Fraction of the samples, from the end, that is used for validation, from 0 to 1."),
        option<&O::validation_data>("Data for the validation."),
        option<&O::shuffle>("Whether samples are shuffled before each epoch; \"batch\" shuffles the "
                            "batches, and the rows within each."),
        option<&O::class_weight>("Weight of the samples of each class in the loss. Default: 1."),
        option<&O::initial_epoch>("Number of the first epoch."),
        option<&O::steps_per_epoch>("Steps of an epoch. Default: until the data ends."),
        option<&O::validation_steps>("Steps of a validation. Default: until the data ends."),
        option<&O::validation_batch_size>("Samples of a batch in validation. Default: batch_size."),
        option<&O::validation_freq>("Epochs between validations, or the epochs after which there is one."),
        option<&O::max_queue_size>("Batches of a Sequence that are read ahead."),
        option<&O::workers>("Threads, or requests, that read a Sequence at a time."),
        option<&O::use_multiprocessing>("Without effect: workers are threads, or requests."));
  }
};

/// The options of train_on_batch and test_on_batch.
struct BatchOptions {
  /// Whether metrics are reset before the batch. If false, they continue from the last call.
  bool reset_metrics = true;
  /// As fit's.
  ClassWeight class_weight = {};

  template <class O = BatchOptions> static constexpr auto fields() {
    return option_rows(option<&O::reset_metrics>("Whether metrics are reset first."),
                       option<&O::class_weight>("Weight of the samples of each class in the loss. Default: 1."));
  }
};

/// The rows of the options of evaluate and predict.
template <class Options> constexpr auto loop_fields() {
  return option_rows(option<&Options::batch_size>("Samples of a batch. Default: 32, or that of the data."),
                     option<&Options::verbose>("0: silent, 1: a progress bar, 2: one line per epoch."),
                     option<&Options::steps>("Steps of the loop. Default: until the data ends."),
                     option<&Options::callbacks>("Callbacks of the loop."),
                     option<&Options::max_queue_size>("Batches of a Sequence that are read ahead."),
                     option<&Options::workers>("Threads, or requests, that read a Sequence at a time."),
                     option<&Options::use_multiprocessing>("Without effect: workers are threads, or requests."));
}

/// Options of Model::evaluate.
struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = {};
  int verbose = -1;
  std::optional<std::int64_t> steps = {};
  std::vector<CallbackPtr> callbacks = {};
  /// As fit's.
  std::int64_t max_queue_size = 10;
  int workers = 1;
  bool use_multiprocessing = false;

  template <class O = EvaluateOptions> static constexpr auto fields() { return loop_fields<O>(); }
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
  bool use_multiprocessing = false;

  template <class O = PredictOptions> static constexpr auto fields() { return loop_fields<O>(); }
};

}  // namespace etude
