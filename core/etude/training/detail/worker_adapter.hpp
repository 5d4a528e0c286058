#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "etude/data/data.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/distribute/workers.hpp"

namespace etude {

/// The adapter of this process, one of several. A dataset is divided by its DatasetOptions, and predict divides files
/// only by rows, so that their order is kept. The dataset of a DatasetCreator belongs to this process alone. All other
/// data is read by every process. Elastic processes read all data. Throws Error(value) in all processes if the policy
/// does not fit, or differs between them, and Error(data) if data that all read has another size in one. Source:
/// DistributedDataset in tensorflow/python/distribute/input_lib.py, and Model.predict in keras/engine/training.py
/// (2.9).
std::unique_ptr<DataAdapter> worker_adapter(const Data& data, const AdapterOptions& options, Purpose purpose,
                                            Workers& workers);

/// The batches of data that all processes read. Their rows are not known before, so that each step compares them.
class CommonAdapter : public DataAdapter {
 public:
  CommonAdapter(std::unique_ptr<DataAdapter> own, Workers& workers) : own_(std::move(own)), workers_(workers) {}

  std::optional<std::int64_t> size() const override { return own_->size(); }
  bool infinite() const override { return own_->infinite(); }
  Passes passes() const override { return own_->passes(); }
  void begin_epoch(int epoch) override { own_->begin_epoch(epoch); }
  PendingPtr fetch() override { return own_->fetch(); }
  /// Throws Error(data) in all processes if one cannot read its data, has other rows, or no rows any more.
  const Batch* consume() override;
  const Batch* peek() override { return own_->peek(); }
  void on_epoch_end() override { own_->on_epoch_end(); }
  DataState state() const override { return own_->state(); }
  void restore(const DataState& state) override { own_->restore(state); }

 private:
  std::unique_ptr<DataAdapter> own_;
  Workers& workers_;
};

/// The batches of a dataset that only this process reads. In each step, the rows of all processes together are the
/// batch. When a process has no more rows, the rows of the others are given to all processes, so that each computes a
/// part of them. The data ends when that of all processes has ended.
class WorkerAdapter : public DataAdapter {
 public:
  /// `own`: the batches of this process. Each of them has the rows of `pieces` steps.
  WorkerAdapter(std::unique_ptr<DataAdapter> own, Workers& workers, int pieces, Passes passes);

  /// Unknown: how many steps there are depends on the other processes.
  std::optional<std::int64_t> size() const override { return {}; }
  bool infinite() const override { return infinite_; }
  Passes passes() const override { return passes_; }
  void begin_epoch(int epoch) override;
  PendingPtr fetch() override;
  /// Throws Error(data) in all processes if one cannot read its data, or has batches of another shape.
  const Batch* consume() override;
  /// Throws Error(data) in all processes if one has no data.
  const Batch* peek() override;
  void on_epoch_end() override { own_->on_epoch_end(); }
  /// The epoch; and for each process its complete batches, and the steps of the current one.
  DataState state() const override;
  void restore(const DataState& state) override;

 private:
  const Batch* next();
  const Batch* whole();
  void leave_batch();

  std::unique_ptr<DataAdapter> own_;
  Workers& workers_;
  int pieces_;
  Passes passes_;
  bool infinite_ = false, peeked_ = false;
  int epoch_ = 0;
  std::int64_t batches_ = 0;          ///< that are complete
  std::int64_t step_ = 0;             ///< of the current batch
  const Batch* current_ = nullptr;    ///< until all of its steps are done
  Batch batch_;                       ///< of the last step
  Batch example_;                     ///< the last batch that this process has read
  std::vector<std::int64_t> rows_;    ///< of all processes in the last step
  std::vector<std::int64_t> places_;  ///< the state of all processes: batches_ and step_ of each
};

}  // namespace etude
