#include "etude/experiment/training_callback.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/callbacks/backup_and_restore.hpp"
#include "etude/experiment/context.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/saving/detail/share_checkpoint.hpp"
#include "etude/saving/detail/training_state.hpp"
#include "etude/training/detail/training.hpp"
#include "etude/training/model.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "experiment";
constexpr std::string_view of_validation = "val_";

/// Whether something happens every so many steps, and did between two numbers of steps.
bool due(const SaveFrequency& frequency, std::int64_t before, std::int64_t now) {
  const std::int64_t every = frequency.batches();
  return every > 0 && now / every > before / every;
}

bool each_epoch(const std::optional<SaveFrequency>& frequency) { return frequency && frequency->batches() == 0; }

/// The values of a training, or of its validation without "val_"; nothing if there are none.
Logs part_of(const Logs& logs, bool validation) {
  Logs part;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::string_view name = logs.name(i);
    if (name.starts_with(of_validation) != validation) continue;
    part.set(name.substr(validation ? of_validation.size() : 0), logs.value(i));
  }
  return part;
}

/// The state with the model's config, if it has one, so that load_model() can make the model.
Checkpoint with_config(Checkpoint state, const Model& model) {
  try {
    state.documents.push_back({"config", saved_config(model)});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::value) throw;  // a model of a custom class, or with functions
  }
  return state;
}

}  // namespace

TrainingCallback::TrainingCallback(Context& context, TrainingOptions options)
    : context_(context), options_(std::move(options)), system_(options_.system_metrics_interval) {
  const std::string& policy = options_.checkpoint_policy;
  check(policy == "best" || policy == "all" || policy == "none", ErrorKind::value, where, "checkpoint_policy = \"",
        policy, "\" - expected \"best\", \"all\" or \"none\" - choose one of them.");
  check(options_.system_metrics_interval >= 0, ErrorKind::value, where,
        "system_metrics_interval = ", options_.system_metrics_interval,
        " - expected 0 seconds or more - 0 reports none.");
}

void TrainingCallback::acquire() {
  Workers* const others = model().strategy()->others();
  check(!others || others == context_.workers(), ErrorKind::state, where,
        "a model of several processes with a context from outside its strategy's scope - expected a context that was "
        "made in the "
        "strategy's scope - call init() there.");
  for (const CallbackPtr& callback : model().training()->callbacks())
    check(callback.get() == this || (!dynamic_cast<const BackupAndRestore*>(callback.get()) &&
                                     !dynamic_cast<const TrainingCallback*>(callback.get())),
          ErrorKind::state, where,
          "a TrainingCallback beside a BackupAndRestore or another TrainingCallback - expected one of them, since each "
          "restores the training - remove the other.");
  context_.begin_fit();
  load();
}

/// With several processes, all get the checkpoint of the chief.
void TrainingCallback::load() {
  loaded_.reset();
  loaded_uuid_.clear();
  continues_ = false;
  if (context_.is_chief()) {
    const std::string& own = context_.info.trial.trial_id;
    std::string uuid = context_.info.latest_checkpoint.value_or("");
    const bool has_own = !uuid.empty() && context_.checkpoint.get(uuid).trial_id == own;
    if (!has_own && !options_.checkpoint.empty()) uuid = options_.checkpoint;
    if (!uuid.empty()) {
      const std::string of = context_.checkpoint.get(uuid).trial_id;
      continues_ = of == own || of == options_.continue_id;
      if (of == own) loaded_uuid_ = uuid;
      const std::string path = context_.checkpoint.restore_path(uuid);
      loaded_ = load_newest_checkpoint(path, context_.files(), context_.config().warn);
      check(loaded_.has_value(), ErrorKind::data, where, '"', path,
            "\" holds no state of a training - expected a checkpoint that a fit of a context has stored - choose "
            "another checkpoint.");
    }
  }
  if (Workers* const workers = context_.workers()) {
    share_checkpoint(loaded_, *workers);
    continues_ = workers->all_gather(continues_ ? 1 : 0).front() == 1;
  }
}

std::int64_t TrainingCallback::steps() const { return model().training()->data().consumed(); }

void TrainingCallback::on_train_begin(Logs&) {
  stopped_ = stepped_ = false;
  steps_ = 0;
  stored_steps_ = -1;
  stored_.clear();
  unsaved_.reset();
  best_.reset();
  if (!loaded_) return;
  if (continues_) {
    if (!loaded_uuid_.empty()) {  // the validation of its epoch may score it
      stored_ = loaded_uuid_;
      stored_steps_ = loaded_->step;
    }
    context_.train.continue_reports();
    pending_ = started(resume_training(*model().training(), *loaded_));
    return;
  }
  assign_all(named_weights(model()), loaded_->group("model"), "warm start");
  loaded_.reset();
}

void TrainingCallback::on_epoch_begin(int epoch, Logs&) {
  epoch_ = epoch;
  stopped_ = stepped_ = false;
  unsaved_.reset();
  steps_ = steps();
  // The stored epoch had begun already: undoes repeated changes of other callbacks' on_epoch_begin.
  if (loaded_ && model().training()->resumed.within_epoch) restore_values(*model().training(), *loaded_);
  loaded_.reset();
}

void TrainingCallback::on_train_batch_end(std::int64_t, Logs& logs) {
  stepped_ = true;
  stopped_ = model().stop_training;
  const std::int64_t before = std::exchange(steps_, steps());
  if (due(options_.report_freq, before, steps_)) context_.train.report_metrics("training", steps_, logs);
  if (const std::optional<Logs> usage = system_.next()) context_.train.report_metrics("system", steps_, *usage);
  const bool ends = context_.preempt.should_preempt();
  const bool is_due = options_.checkpoint_freq && due(*options_.checkpoint_freq, before, steps_);
  if ((is_due || stopped_ || ends) && context_.is_chief())
    store(training_state(*model().training(), TrainingMoment::execution_end, logs), {});
  if (ends) end();
}

void TrainingCallback::on_test_begin(Logs&) {
  Training* const training = model().training();
  // Before the first step of this epoch, and if it was just stored, the last checkpoint is still current.
  if (!training || !stepped_ || stored_steps_ == steps_ || !context_.is_chief()) return;
  unsaved_ = {training_state(*training, TrainingMoment::execution_end, training->step().logs()), {}};
}

void TrainingCallback::on_test_batch_end(std::int64_t, Logs&) {
  if (model().training() && context_.preempt.should_preempt()) end();
}

std::optional<double> TrainingCallback::score_in(const Logs& validation) const {
  if (validation.empty()) return {};
  const std::string& metric = context_.metric();
  if (!validation.contains(metric)) {
    std::string known;
    for (std::size_t i = 0; i < validation.size(); ++i) known += (i ? ", " : "") + validation.name(i);
    fail(ErrorKind::value, where, "the metric \"", metric,
         "\" is not in the logs of the validation - expected one of: ", known,
         " - correct the metric of the context, or compile the model with it.");
  }
  return validation[metric];
}

void TrainingCallback::on_epoch_end(int epoch, Logs& logs) {
  Logs training = part_of(logs, false), validation = part_of(logs, true);
  const std::optional<double> score = score_in(validation);
  const auto report = [&](const char* group, Logs& values) {
    values.set("epochs", epoch + 1);
    context_.train.report_metrics(group, steps_, values);
  };
  if (options_.report_freq.batches() == 0 && !training.empty()) report("training", training);
  if (!validation.empty()) report("validation", validation);
  if (params().epochs > epoch) context_.train.report_progress(static_cast<double>(epoch + 1) / params().epochs);
  const bool ends = context_.preempt.should_preempt();
  const bool stores = wanted(score);
  if (context_.is_chief()) keep(logs, score, stores);
  if (ends) end();
}

/// Whether the policy wants a checkpoint after a validation with that metric.
bool TrainingCallback::wanted(std::optional<double> score) {
  if (!score) return false;
  const bool is_best =
      std::isfinite(*score) && (!best_ || (context_.retention().smaller_is_better ? *score < *best_ : *score > *best_));
  if (is_best) best_ = score;
  return options_.checkpoint_policy == "all" || (is_best && options_.checkpoint_policy == "best");
}

/// Stores the state at the end of an epoch if that is `wanted`, or due, or keeps it until the next one.
void TrainingCallback::keep(const Logs& logs, std::optional<double> score, bool wanted) {
  if (stored_steps_ == steps_ && score) context_.checkpoint.set_score(stored_, score);
  // If the epoch was stopped, the state after its last step was stored, and stays the newest.
  if (stopped_) return;
  Checkpoint state = training_state(*model().training(), TrainingMoment::epoch_end, logs);
  if (each_epoch(options_.checkpoint_freq) || (wanted && stored_steps_ != steps_))
    store(std::move(state), score);
  else
    unsaved_ = {std::move(state), score};
}

void TrainingCallback::store(Checkpoint state, std::optional<double> score) {
  unsaved_.reset();
  const std::int64_t steps = state.step;
  NewCheckpoint made =
      context_.checkpoint.store_path({{"training", true}, {"steps_completed", steps}, {"epoch", epoch_}});
  CheckpointStore(made.path(), {.keep_newest = 1, .files = context_.files(), .warn = context_.config().warn})
      .save(with_config(std::move(state), model()));
  made.commit(score);
  stored_ = made.uuid();
  stored_steps_ = steps;
  context_.checkpoint.collect(context_.retention(), stored_);  // which is needed to continue
}

void TrainingCallback::end() {
  if (unsaved_) store(std::move(unsaved_->state), unsaved_->score);
  context_.preempt.acknowledge();
  // When the first process ends, its launcher may end the others at once: all wait until the checkpoint is stored.
  if (Workers* const workers = context_.workers()) workers->all_gather(0);
  throw Preempted();
}

void TrainingCallback::on_train_end(Logs&) {
  if (unsaved_) store(std::move(unsaved_->state), unsaved_->score);
  if (context_.is_chief()) context_.checkpoint.collect(context_.retention());
  // After fit, all processes find the same checkpoints.
  if (Workers* const workers = context_.workers()) workers->all_gather(0);
}

CallbackState TrainingCallback::state() const {
  CallbackState state("TrainingCallback");
  state.set("best", best_);
  return state;
}

void TrainingCallback::restore(const CallbackState& state) { best_ = state.number_if("best"); }

void TrainingCallback::release() noexcept {
  loaded_.reset();
  unsaved_.reset();
}

}  // namespace etude::experiment
