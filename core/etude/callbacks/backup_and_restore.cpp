#include "etude/callbacks/backup_and_restore.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/saving/detail/share_checkpoint.hpp"
#include "etude/training/detail/training.hpp"
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

/// Whether the weights and the loss are finite.
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
        "Empty `backup_dir` argument passed - expected a folder for this training only - set backup_dir.");
  if (!options_.files) check_is_path(options_.backup_dir, "BackupAndRestore");
  if (!options_.termination) options_.termination = host().watch_termination;
  check(!options_.save_before_preemption || options_.termination, ErrorKind::value, "BackupAndRestore",
        "{.save_before_preemption = true} where there are no signals, as in WebAssembly - expected false - omit it "
        "and set save_freq.");
}

void BackupAndRestore::acquire() {
  store_.reset();  // releases the lock of the folder
  Workers* const workers = model().strategy()->others();
  if (!workers || workers->is_chief()) {
    store_ = new_store();
    loaded_ = store_->load_newest();
  }
  if (workers) share_checkpoint(loaded_, *workers);
  if (options_.save_before_preemption) termination_ = options_.termination();
}

std::unique_ptr<CheckpointStore> BackupAndRestore::new_store() const {
  return std::make_unique<CheckpointStore>(
      options_.backup_dir,
      CheckpointStoreOptions{
          .keep_newest = options_.double_checkpoint ? 2 : 1, .files = options_.files, .warn = options_.warn});
}

/// The folder of a chief that has ended. The system may release its lock a moment after its connections.
std::unique_ptr<CheckpointStore> BackupAndRestore::inherited_store() const {
  for (int attempt = 1;; ++attempt) {
    try {
      return new_store();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::state || attempt == 500) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void BackupAndRestore::on_members_change() {
  loaded_.reset();
  unsaved_.reset();
  Workers* const workers = model().strategy()->others();
  if (!store_ && workers && workers->is_chief()) store_ = inherited_store();
}

/// With several processes, whether one of them was asked: all end after the same step.
bool BackupAndRestore::asked_to_end() {
  if (!termination_) return false;
  const bool asked = termination_->requested();
  Workers* const workers = model().strategy()->others();
  return workers ? std::ranges::any_of(workers->all_gather(asked ? 1 : 0), std::identity()) : asked;
}

void BackupAndRestore::on_train_begin(Logs&) {
  saves_.restart();
  stopped_ = stepped_ = false;
  if (loaded_)
    pending_ = started(resume_training(*model().training(), *loaded_));
  else if (const auto state = start_state(*model().training()); state && store_)
    store_->save(*state);
}

void BackupAndRestore::on_epoch_begin(int, Logs&) {
  stopped_ = stepped_ = false;
  unsaved_.reset();
  // The saved epoch had begun already: undoes repeated changes of other callbacks' on_epoch_begin.
  if (loaded_ && model().training()->resumed.within_epoch) restore_values(*model().training(), *loaded_);
  loaded_.reset();
}

void BackupAndRestore::on_train_batch_end(std::int64_t batch, Logs& logs) {
  stepped_ = true;
  stopped_ = model().stop_training;
  const bool ends = asked_to_end();
  if (saves_.due(batch) || stopped_ || ends) save(TrainingMoment::execution_end, logs);
  if (ends) end_process();
}

void BackupAndRestore::on_test_begin(Logs&) {
  Training* const training = model().training();
  // Before the first step of this epoch, the last checkpoint is still current.
  if (store_ && termination_ && training && stepped_)
    unsaved_ = training_state(*training, TrainingMoment::execution_end, training->step().logs());
}

void BackupAndRestore::on_test_batch_end(std::int64_t, Logs&) {
  if (!model().training() || !asked_to_end()) return;
  end_process();
}

void BackupAndRestore::on_epoch_end(int, Logs& logs) {
  const bool ends = asked_to_end();
  // If the epoch was stopped, the state after its last step was saved, and stays the newest.
  if (!stopped_ && (saves_.each_epoch() || ends))
    save(TrainingMoment::epoch_end, logs);
  else if (!stopped_ && termination_ && store_)
    unsaved_ = training_state(*model().training(), TrainingMoment::epoch_end, logs);
  if (ends) end_process();
}

void BackupAndRestore::save(TrainingMoment moment, const Logs& logs) {
  unsaved_.reset();
  if (!store_) return;
  save(training_state(*model().training(), moment, logs));
}

void BackupAndRestore::save(const Checkpoint& state) {
  // A state that is not finite is useless; fit can reach it again from the previous one.
  if (is_finite(state)) store_->save_later(state);
}

void BackupAndRestore::end_process() {
  if (unsaved_) save(*unsaved_);
  if (store_) store_->wait();
  // When the first process ends, its launcher may end the others at once: all wait until the checkpoint is stored.
  if (Workers* const workers = model().strategy()->others()) {
    try {
      workers->all_gather(0);
    } catch (const CollectiveError&) {
      if (!workers->elastic()) throw;  // otherwise one of them has ended already, as all had agreed
    }
  }
  for (const CallbackPtr& callback : model().training()->callbacks())
    if (callback.get() != this) callback->release();
  termination_->exit();
}

void BackupAndRestore::on_train_end(Logs&) {
  if (asked_to_end()) end_process();  // when started again, fit has no steps left
  if (!store_) return;
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
  unsaved_.reset();
  termination_.reset();  // last: a late request may end the process here
}

}  // namespace etude
