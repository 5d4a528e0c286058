#include "etude/experiment/context.hpp"

#include <span>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/saving/load_model.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "experiment";

ClusterInfo info_of(const Config& config, const std::shared_ptr<Vfs>& files) {
  ClusterInfo info = cluster_info(files, config.trial_file);
  if (info.detached) {
    info.trial = config.trial;
    info.storage = config.storage;
    check_id(info.trial.trial_id, "trial_id");
  }
  check(!info.storage.empty(), ErrorKind::value, where,
        "an empty storage - expected the folder of the trial's files - set it.");
  return info;
}

/// Sets the uuid of the newest checkpoint of the trial, if it has one. With several processes, that of the chief.
void find_latest(ClusterInfo& info, const CheckpointContext& checkpoint, Workers* workers) {
  std::string uuid = info.latest_checkpoint.value_or("");
  if (!workers || workers->rank() == 0) {
    for (const StoredCheckpoint& stored : checkpoint.list()) {
      if (stored.is_training())
        uuid = stored.uuid;
      else if (stored.uuid == uuid)
        uuid.clear();  // what starts trials does not know which of their checkpoints can be continued
    }
  }
  if (workers) {
    uuid.resize(static_cast<std::size_t>(workers->all_gather(std::ssize(uuid)).front()));
    workers->broadcast(std::as_writable_bytes(std::span(uuid)));
  }
  info.latest_checkpoint = uuid.empty() ? std::nullopt : std::optional(uuid);
}

}  // namespace

Context::Context(Config config)
    : config_(std::move(config)),
      files_(vfs_or_host(config_.files, where)),
      strategy_(get_strategy()),
      workers_(config_.workers ? config_.workers.get() : strategy_->others()),
      info(info_of(config_, files_)),
      train(info, files_, is_chief(), config_.tensorboard),
      checkpoint(info, files_, is_chief()),
      preempt(config_.preempt, files_, workers_, train),
      metric_(info.metric.value_or(config_.metric)),
      retention_(config_.retention) {
  check(
      !workers_ || !workers_->elastic(), ErrorKind::value, where,
      "a trial in processes that may leave and join - expected processes that stay, because its chief writes the files "
      "- start them without --elastic.");
  if (workers_) info.container_rank = workers_->rank();
  find_latest(info, checkpoint, workers_);
  if (metric_.starts_with("val_")) metric_.erase(0, 4);
  check(!metric_.empty(), ErrorKind::value, where,
        "an empty metric - expected the name of a value of the validation, such as \"loss\" - set it.");
  if (info.retention) retention_ = *info.retention;
  if (info.smaller_is_better) retention_.smaller_is_better = *info.smaller_is_better;
  static_cast<void>(kept_checkpoints({}, retention_));  // refuses negative numbers
}

bool Context::is_chief() const { return !workers_ || workers_->rank() == 0; }

void Context::begin_fit() {
  check(
      !fitted_, ErrorKind::state, where,
      "a second fit with this context - expected one, because a trial that is started again could not determine which "
      "of them to continue - use another trial with a storage of its own, or model.fit without the context.");
  fitted_ = true;
}

StoredCheckpoint Context::find(const std::string& id) const {
  if (checkpoint.contains(id)) return checkpoint.get(id);
  std::vector<StoredCheckpoint> stored = checkpoint.list(id);
  std::erase_if(stored, [](const StoredCheckpoint& one) { return !one.is_training(); });
  check(!id.empty() && !stored.empty(), ErrorKind::value, where, '"', id,
        "\" - expected the uuid of a checkpoint in \"", checkpoint.folder(),
        "\", or the id of a trial that has one - checkpoint.list(\"\") returns all.");
  const std::vector<std::string> best = kept_checkpoints(
      stored, {.save_trial_best = 1, .save_trial_latest = 0, .smaller_is_better = retention_.smaller_is_better});
  return best.empty() ? stored.back() : checkpoint.get(best.front());
}

ModelPtr Context::load_model_from_checkpoint(const std::string& id) const {
  const std::string path = checkpoint.restore_path(find(id).uuid);
  return load_model(path, {.files = files_});
}

void Context::load_weights_from_checkpoint(Model& model, const std::string& id) const {
  const std::string path = checkpoint.restore_path(find(id).uuid);
  check_built(model, "load_weights_from_checkpoint");
  const std::optional<Checkpoint> state = load_newest_checkpoint(path, files_, config_.warn);
  check(state.has_value(), ErrorKind::data, where, '"', path,
        "\" holds no model - expected a checkpoint that a fit of a context has stored - choose another checkpoint.");
  assign_all(named_weights(model), state->group("model"), "load_weights_from_checkpoint");
}

Choice<Optimizer> Context::wrap_optimizer(Choice<Optimizer> optimizer) const {
  check(!workers_ || get_strategy()->others() == workers_, ErrorKind::state, where,
        "wrap_optimizer() of several processes outside their strategy's scope - expected the scope of a "
        "MultiWorkerMirroredStrategy, which sums the gradients - make model and optimizer in it.");
  return optimizer;
}

Dataset Context::wrap_dataset(const Dataset& dataset) const {
  return workers_ ? dataset.shard(workers_->count(), workers_->rank()) : dataset;
}

Context init(Config config) { return Context(std::move(config)); }

int trial_main(const std::function<void(Context& context)>& program, const Config& config) {
  try {
    Context context(config);
    try {
      program(context);
    } catch (const InvalidHP& error) {
      context.train.report_invalid_hp(error.what());
    }
  } catch (const Preempted&) {
    return preempted_exit_code;
  } catch (const std::exception& error) {
    print_warning(config.warn, error.what());
    return 1;
  }
  return 0;
}

}  // namespace etude::experiment
