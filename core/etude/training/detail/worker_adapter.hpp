#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "etude/data/data.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/distribute/workers.hpp"

namespace etude {

/// The adapter of this process, one of several. A dataset is divided by its DatasetOptions, and predict divides files
/// only by rows, so that their order is kept. The dataset of a DatasetCreator belongs to this process alone. All other
/// data is read by every process. Elastic processes read all data. Throws Error(value) in all processes if the policy
/// does not fit, or differs between them. Source: DistributedDataset in tensorflow/python/distribute/input_lib.py, and
/// Model.predict in keras/engine/training.py (2.9).
std::unique_ptr<DataAdapter> worker_adapter(const Data& data, const AdapterOptions& options, Purpose purpose,
                                            Workers& workers);

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
  /// What the processes tell each other before each step.
  struct Report {
    std::int64_t rows, shapes, batches, steps;
  };
  const Batch* next();
  std::vector<Report> exchange(const Report& own);
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
