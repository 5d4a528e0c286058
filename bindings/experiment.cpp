/// Trials: their contexts, and the callback of their fit. web/src/experiment.ts has the interface. JavaScript registers
/// these functions when it has loaded their part.
#include "experiment.hpp"

#include "callback_options.hpp"

namespace etude::js {
namespace {

using experiment::Preempted, experiment::StoredCheckpoint, experiment::RetentionRules;

/// A context, and its checkpoints that are not complete.
struct TrialContext {
  explicit TrialContext(experiment::Config config) : context(std::move(config)) {}
  experiment::Context context;
  std::map<std::string, std::unique_ptr<experiment::NewCheckpoint>> unfinished;
};
using TrialPtr = std::shared_ptr<TrialContext>;

[[noreturn]] void throw_preempted(const Preempted& error) {
  throw Thrown{call_host("preempted", std::string(error.what()))};
}

/// The callback, which keeps its context, and throws web's Preempted.
class TrainingCallback : public experiment::TrainingCallback {
 public:
  TrainingCallback(TrialPtr trial, experiment::TrainingOptions options)
      : experiment::TrainingCallback(trial->context, std::move(options)), trial_(std::move(trial)) {}
  void on_epoch_end(int epoch, Logs& logs) override {
    run([&] { experiment::TrainingCallback::on_epoch_end(epoch, logs); });
  }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    run([&] { experiment::TrainingCallback::on_train_batch_end(batch, logs); });
  }
  void on_test_batch_end(std::int64_t batch, Logs& logs) override {
    run([&] { experiment::TrainingCallback::on_test_batch_end(batch, logs); });
  }

 private:
  template <class Work> static void run(Work&& work) {
    try {
      work();
    } catch (const Preempted& error) {
      throw_preempted(error);
    }
  }

  const TrialPtr trial_;
};

RetentionRules rules_of(const val& given, const Where& where) {
  RetentionRules rules;
  take(given, "saveExperimentBest", rules.save_experiment_best, where);
  take(given, "saveTrialBest", rules.save_trial_best, where);
  take(given, "saveTrialLatest", rules.save_trial_latest, where);
  take(given, "smallerIsBetter", rules.smaller_is_better, where);
  return rules;
}

experiment::Config config_of(const val& given) {
  const Where where{"experiment.init", ""};
  experiment::Config config;
  const val trial = given["trial"];
  take(trial, "trialId", config.trial.trial_id, where);
  take(trial, "experimentId", config.trial.experiment_id, where);
  take(trial, "trialSeed", config.trial.trial_seed, where);
  config.trial.hparams = settings_of(trial["hparams"], "hparams");
  take(given, "trialFile", config.trial_file, where);
  take(given, "storage", config.storage, where);
  config.retention = rules_of(given["retention"], where);
  take(given, "metric", config.metric, where);
  take(given, "tensorboard", config.tensorboard, where);
  take(given, "file", config.preempt.file, where);
  config.preempt.requested = [requested = given["requested"]] { return call(requested).isTrue(); };
  return config;
}

experiment::TrainingOptions training_of(const val& given) {
  const Where where{"experiment.fit", ""};
  experiment::TrainingOptions options;
  take(given, "checkpointFreq", options.checkpoint_freq, where);
  take(given, "checkpointPolicy", options.checkpoint_policy, where);
  take(given, "reportFreq", options.report_freq, where);
  take(given, "systemMetricsInterval", options.system_metrics_interval, where);
  take(given, "checkpoint", options.checkpoint, where);
  take(given, "continueId", options.continue_id, where);
  return options;
}

val object_of(const RetentionRules& rules) {
  val result = val::object();
  result.set("saveExperimentBest", rules.save_experiment_best);
  result.set("saveTrialBest", rules.save_trial_best);
  result.set("saveTrialLatest", rules.save_trial_latest);
  result.set("smallerIsBetter", rules.smaller_is_better);
  return result;
}

val object_of(const experiment::ClusterInfo& info) {
  val trial = val::object(), result = val::object();
  trial.set("trialId", info.trial.trial_id);
  trial.set("experimentId", info.trial.experiment_id);
  trial.set("trialSeed", static_cast<double>(info.trial.trial_seed));
  trial.set("hparams", parsed(info.trial.hparams.json()));
  result.set("trial", trial);
  result.set("latestCheckpoint", to_js(info.latest_checkpoint));
  result.set("storage", info.storage);
  result.set("checkpointStorage", info.checkpoint_storage);
  result.set("maxLength", parsed(info.max_length.json()));
  result.set("userData", parsed(info.user_data.json()));
  result.set("metric", to_js(info.metric));
  result.set("smallerIsBetter", to_js(info.smaller_is_better));
  result.set("retention", info.retention ? object_of(*info.retention) : val::null());
  result.set("containerRank", info.container_rank);
  result.set("containerAddrs", to_js(info.container_addrs));
  result.set("detached", info.detached);
  return result;
}

val object_of(const StoredCheckpoint& checkpoint) {
  val result = val::object();
  result.set("uuid", checkpoint.uuid);
  result.set("trialId", checkpoint.trial_id);
  result.set("experimentId", checkpoint.experiment_id);
  result.set("serial", static_cast<double>(checkpoint.serial));
  result.set("score", to_js(checkpoint.score));
  result.set("metadata", parsed(checkpoint.metadata.json()));
  result.set("isTraining", checkpoint.is_training());
  return result;
}
val list_of(const std::vector<StoredCheckpoint>& checkpoints) {
  val result = val::array();
  for (const StoredCheckpoint& each : checkpoints) result.call<void>("push", object_of(each));
  return result;
}

/// Metrics, which may be NaN.
Logs logs_of(const val& metrics) {
  Logs logs;
  for (const std::string& name : keys(metrics)) {
    const val value = metrics[name];
    logs.set(name, value.isNumber() ? value.as<double>() : from_js<double>(value, {"reportMetrics", name}));
  }
  return logs;
}

experiment::NewCheckpoint& unfinished(TrialContext& trial, const std::string& uuid) {
  const auto found = trial.unfinished.find(uuid);
  check(found != trial.unfinished.end(), ErrorKind::state, "checkpoint", '"', uuid,
        "\", which is complete or was discarded - expected a new checkpoint - make one by storePath().");
  return *found->second;
}

/// Calls a function that returns a promise of true, or of false at the end.
Task<bool> asked(val next, std::int64_t index) {
  const auto settlement = std::make_shared<Settlement>();
  PendingPtr pending = std::make_unique<PromisePending>(call(next, static_cast<double>(index)), settlement);
  co_await std::move(pending);
  co_return settlement->value.isTrue();
}

std::function<void()> function_of(const val& given) {
  if (given.isUndefined() || given.isNull()) return {};
  return [given] { call(given); };
}

Task<bool> batch_process(TrialPtr trial, val begin, val next, val given) {
  const Where where{"batchProcess", ""};
  experiment::BatchProcessOptions options;
  take(given, "checkpointInterval", options.checkpoint_interval, where);
  take(given, "maxBatches", options.max_batches, where);
  take(given, "name", options.name, where);
  options.on_checkpoint_start = function_of(given["onCheckpointStart"]);
  options.on_finish = function_of(given["onFinish"]);
  try {
    co_await trial->context.batch_process_task([begin](std::int64_t done) { call(begin, static_cast<double>(done)); },
                                               [next](std::int64_t index) { return asked(next, index); }, options);
  } catch (const Preempted& error) {
    throw_preempted(error);
  }
  co_return true;
}

}  // namespace

template <> struct Conversion<TrialPtr> {
  static TrialPtr from(const val& value, const Where& where) {
    if (!is_of_class(value, "TrialContext")) where.wrong_class(value, "TrialContext");
    return value.as<TrialPtr>();
  }
  static val to(const TrialPtr& trial) { return val(trial); }
  static std::string given() { return "TrialContext"; }
  static std::string made() { return "TrialContext"; }
};

namespace {

void register_checkpoints() {
  bind<"experiment.store_path(context, metadata)", [](TrialPtr trial, val metadata) {
    std::unique_ptr<experiment::NewCheckpoint> made(
        new experiment::NewCheckpoint(trial->context.checkpoint.store_path(settings_of(metadata, "metadata"))));
    const std::string uuid = made->uuid();
    trial->unfinished[uuid] = std::move(made);
    return uuid;
  }>();
  bind<"experiment.path_of(context, uuid)",
       [](TrialPtr trial, std::string uuid) { return unfinished(*trial, uuid).path(); }>();
  bind<"experiment.commit(context, uuid, score?)", [](TrialPtr trial, std::string uuid, std::optional<double> score) {
    unfinished(*trial, uuid).commit(score);
    trial->unfinished.erase(uuid);
  }>();
  bind<"experiment.discard(context, uuid)", [](TrialPtr trial, std::string uuid) { trial->unfinished.erase(uuid); }>();
  bind<"experiment.restore_path(context, uuid)",
       [](TrialPtr trial, std::string uuid) { return trial->context.checkpoint.restore_path(uuid); }>();
  bind<"experiment.get(context, uuid)",
       [](TrialPtr trial, std::string uuid) { return object_of(trial->context.checkpoint.get(uuid)); }>();
  bind<"experiment.contains(context, uuid)",
       [](TrialPtr trial, std::string uuid) { return trial->context.checkpoint.contains(uuid); }>();
  bind<"experiment.remove(context, uuid)",
       [](TrialPtr trial, std::string uuid) { trial->context.checkpoint.remove(uuid); }>();
  bind<"experiment.set_score(context, uuid, score)", [](TrialPtr trial, std::string uuid, std::optional<double> score) {
    trial->context.checkpoint.set_score(uuid, score);
  }>();
  bind<"experiment.list(context, trial_id?)", [](TrialPtr trial, std::optional<std::string> trial_id) {
    const experiment::CheckpointContext& checkpoint = trial->context.checkpoint;
    return list_of(trial_id ? checkpoint.list(*trial_id) : checkpoint.list());
  }>();
  bind<"experiment.collect(context, rules?, also?)", [](TrialPtr trial, val rules, std::optional<std::string> also) {
    const bool given = !rules.isUndefined();
    return trial->context.checkpoint.collect(given ? rules_of(rules, {"collect", ""}) : trial->context.retention(),
                                             also.value_or(""));
  }>();
  bind<"experiment.checkpoint_folder(context)", [](TrialPtr trial) { return trial->context.checkpoint.folder(); }>();
  bind<"experiment.list_checkpoints(folder)",
       [](std::string folder) { return list_of(experiment::list_checkpoints(folder)); }>();
  bind<"experiment.collect_checkpoints(folder, rules)", [](std::string folder, val rules) {
    return experiment::collect_checkpoints(folder, rules_of(rules, {"collectCheckpoints", ""}));
  }>();
}

}  // namespace

void register_trials() {
  held<TrialContext>();
  bind<"experiment.cluster_info(trial_file)",
       [](std::string trial_file) { return object_of(experiment::cluster_info({}, trial_file)); }>();
  bind<"experiment.init(config)", [](val config) { return std::make_shared<TrialContext>(config_of(config)); }>();
  bind<"experiment.info(context)", [](TrialPtr trial) { return object_of(trial->context.info); }>();
  bind<"experiment.close(context)", [](TrialPtr trial) {
    trial->unfinished.clear();
    trial->context.train.close();
  }>();
  bind<"experiment.training_callback(context, options)", [](TrialPtr trial, val options) -> CallbackPtr {
    return std::make_shared<TrainingCallback>(trial, training_of(options));
  }>();
  bind<"experiment.load_model(context, id)",
       [](TrialPtr trial, std::string id) { return trial->context.load_model_from_checkpoint(id); }>();
  bind<"experiment.load_weights(context, model, id)", [](TrialPtr trial, ModelPtr model, std::string id) {
    trial->context.load_weights_from_checkpoint(*model, id);
  }>();
  bind<"experiment.batch_process(context, begin, next, options)", batch_process>();
  bind<"experiment.report_metrics(context, group, steps_completed, metrics)",
       [](TrialPtr trial, std::string group, std::int64_t steps_completed, val metrics) {
         trial->context.train.report_metrics(group, steps_completed, logs_of(metrics));
       }>();
  bind<"experiment.report_progress(context, progress)",
       [](TrialPtr trial, double progress) { trial->context.train.report_progress(progress); }>();
  bind<"experiment.set_status(context, status)",
       [](TrialPtr trial, std::string status) { trial->context.train.set_status(status); }>();
  bind<"experiment.report_invalid_hp(context, message)",
       [](TrialPtr trial, std::string message) { trial->context.train.report_invalid_hp(message); }>();
  bind<"experiment.requested(context)", [](TrialPtr trial) { return trial->context.preempt.requested(); }>();
  bind<"experiment.should_preempt(context)", [](TrialPtr trial) { return trial->context.preempt.should_preempt(); }>();
  bind<"experiment.acknowledge(context)", [](TrialPtr trial) { trial->context.preempt.acknowledge(); }>();
  register_checkpoints();
}

}  // namespace etude::js
