#include "etude/callbacks/backup_and_restore.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

bool is_finite(const Tensor& tensor) {
  const auto all_finite = [](const auto& numbers) {
    return std::ranges::all_of(numbers, [](auto number) { return std::isfinite(number); });
  };
  return tensor.dtype() == DType::float32   ? all_finite(tensor.data<float>())
         : tensor.dtype() == DType::float64 ? all_finite(tensor.data<double>())
                                            : true;
}

/// Whether the weights are, and the loss.
bool is_finite(const Checkpoint& state) {
  const auto finite = [](const NamedTensor& each) { return is_finite(each.tensor); };
  const std::vector<NamedTensor>& logs = state.group("logs");
  const auto loss = std::ranges::find(logs, "loss", &NamedTensor::name);
  return std::ranges::all_of(state.group("model"), finite) && (loss == logs.end() || finite(*loss));
}

}  // namespace

BackupAndRestore::BackupAndRestore(BackupAndRestoreOptions options)
    : options_(std::move(options)), saves_(options_.save_freq) {
  check(!options_.backup_dir.empty(), ErrorKind::value, "BackupAndRestore",
        "Empty `backup_dir` argument passed - expected a folder for this training alone - set backup_dir.");
}

void BackupAndRestore::on_train_begin(Logs&) {
  saves_.restart();
  store_.reset();  // before another one locks the folder
  store_ = std::make_unique<CheckpointStore>(
      options_.backup_dir,
      CheckpointStoreOptions{
          .keep_newest = options_.double_checkpoint ? 2 : 1, .files = options_.files, .warn = options_.warn});
  loaded_ = store_->load_newest();
  if (loaded_) pending_ = started(resume_training(*model().training(), *loaded_));
}

void BackupAndRestore::on_epoch_begin(int, Logs&) {
  stopped_ = false;
  // The epoch had begun before it was interrupted: what its begin changes now, it has changed already.
  if (loaded_ && model().training()->resumed.within_epoch) restore_values(*model().training(), *loaded_);
  loaded_.reset();
}

void BackupAndRestore::on_train_batch_end(std::int64_t batch, Logs& logs) {
  stopped_ = model().stop_training;
  if (saves_.due(batch) || stopped_) save(TrainingMoment::execution_end, logs);
}

void BackupAndRestore::on_epoch_end(int, Logs& logs) {
  // Of an epoch that was left, its steps so far are what there is to go on from.
  if (saves_.each_epoch() && !stopped_) save(TrainingMoment::epoch_end, logs);
}

void BackupAndRestore::save(TrainingMoment moment, const Logs& logs) {
  const Checkpoint state = training_state(*model().training(), moment, logs);
  // Nobody wants to go on from what is not; from the state before it comes to the same.
  if (is_finite(state)) store_->save_later(state);
}

void BackupAndRestore::on_train_end(Logs&) {
  if (options_.delete_checkpoint)
    store_->clear();
  else
    store_->wait();
}

CallbackState BackupAndRestore::state() const {
  CallbackState state("BackupAndRestore");
  saves_.save(state);
  return state;
}

void BackupAndRestore::release() noexcept {
  store_.reset();
  loaded_.reset();
}

}  // namespace etude
