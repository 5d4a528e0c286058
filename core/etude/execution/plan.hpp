#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/watcher.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// The memory that the plans of one model share. Its size is that of the plan that needs most.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  Device& device() const { return device_; }
  std::size_t bytes() const { return storage_ ? storage_->bytes() : 0; }
  std::byte* address() const { return storage_ ? storage_->address() : nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  /// Enlarges it to at least this size. Its contents are lost.
  void reserve(std::size_t bytes);
  /// Increased by every step that runs in it: results of earlier steps may be overwritten.
  std::uint64_t generation = 0;
  /// Times the work of its plans; null: none.
  Watcher* watcher = nullptr;

 private:
  Device& device_;
  std::shared_ptr<Storage> storage_;
};

/// A batch that the device selects: each input is rows of one of `arrays`.
struct SelectedRows {
  std::span<const std::shared_ptr<Storage>> arrays;
  /// Numbers, int32: first the position of the steps, then the rows of all batches, concatenated. A step reads its rows
  /// from there, starting `first` rows after the start of its batch, and adds `batch` to the position.
  Storage* order;
  std::int64_t first, batch;
};

/// Whether an instruction concerns all replicas: an AllReduce or AwaitSums.
bool is_all_reduce(const Instruction& instruction);

/// A compiled step: instructions in order, with all memory laid out. Running it allocates nothing and calls no user
/// code.
class Plan {
 public:
  /// Compiles the nodes that `results`, `logs` and the graph's assignments need. Results can be read after run(). Logs
  /// are scalars. run_logs() computes them after a step, as far as they do not depend on Values that the step
  /// overwrites.
  /// `steps`: the number of batches to upload before the steps run.
  Plan(const Graph& graph, std::span<const Value> results, std::span<const Value> logs, std::shared_ptr<Arena> arena,
       const Replica& replica = {}, std::int64_t steps = 1);

  /// Runs the step on the batch whose tensors begin at `inputs`, in the order of the graph's inputs.
  void run(std::span<const std::byte* const> inputs);

  // The same in parts: upload() each batch, then begin(). For each step call enter(), and advance() until it returns
  // null. Then call end().

  /// The number of batches that can be uploaded in advance: one, unless the device has its own memory.
  std::int64_t steps() const { return steps_; }
  void upload(std::span<const std::byte* const> inputs, std::int64_t step = 0);
  /// For a device that has its own memory. All steps until end() must get their batches in the same way.
  void upload(const SelectedRows& rows, std::int64_t step = 0);
  void begin();
  void enter(std::int64_t step);
  /// Runs all instructions up to the next AllReduce or AwaitSums, and returns it; null at the end of the step. With
  /// `kept`, the device may replay a recording of these instructions.
  const Instruction* advance(std::unique_ptr<Device::Recording>* kept = nullptr);
  void end();
  /// The address of each space in the current step.
  Addresses addresses() const { return addresses_; }
  /// The address of an operand in the current step.
  std::byte* address(const Operand& operand) const {
    return addresses_[static_cast<std::size_t>(operand.space)] + operand.offset;
  }
  /// Computes the logs from the results of the last step.
  void run_logs();

  std::size_t result_count() const { return lowered_.results.size(); }
  const Shape& result_shape(std::size_t index) const { return lowered_.results[index].shape; }
  DType result_dtype(std::size_t index) const { return lowered_.results[index].operand.dtype; }
  /// Copies result `index` to the host.
  void read_result(std::size_t index, std::byte* out) const;
  Tensor result(std::size_t index) const;
  double log(std::size_t index) const;
  /// Adds where the results of the last step are, and the logs that run_logs() computed.
  void add_result_ranges(std::vector<StorageRange>& ranges) const { add_ranges(lowered_.results, ranges); }
  void add_log_ranges(std::vector<StorageRange>& ranges) const { add_ranges(lowered_.logs, ranges); }

  /// How its all-reduces are divided, for the plans of other replicas.
  const Buckets& buckets() const { return lowered_.buckets; }
  const std::vector<Instruction>& instructions() const { return lowered_.instructions; }
  const std::vector<Instruction>& log_instructions() const { return lowered_.log_instructions; }
  std::size_t arena_bytes() const { return lowered_.arena_bytes; }
  Arena& arena() const { return *arena_; }
  Device& device() const { return arena_->device(); }
  /// The watcher that runs its instructions, or null. While there is one, no step is recorded or replayed.
  Watcher* runner() const {
    Watcher* const watcher = arena_->watcher;
    return watcher && watcher->runs_instructions ? watcher : nullptr;
  }

 private:
  /// A storage that the device cannot access, and its copy on the device. The copy is uploaded before a step and
  /// downloaded after it.
  struct Mirror {
    std::size_t space;
    std::shared_ptr<Storage> of, copy;
  };

  /// An input of a batch, in device memory.
  struct Place {
    Shape shape;
    DType dtype;
    std::size_t offset;  ///< in the batch
  };

  void lay_out_batches(const Graph& graph, std::int64_t steps);
  void check_step(std::size_t inputs, std::int64_t step) const;
  void prepare_selection(std::int64_t first_row, std::int64_t batch_rows);
  const Storage& storage_of(const Operand& operand) const;
  void add_ranges(std::span<const Lowered::Result> results, std::vector<StorageRange>& ranges) const;

  std::shared_ptr<Arena> arena_;
  Lowered lowered_;
  std::vector<std::byte*> addresses_;
  /// The memory of batches, for a device that cannot access the host's memory: each input of each step has a place.
  std::shared_ptr<Storage> batches_;
  std::vector<Place> places_;
  std::size_t batch_bytes_ = 0;
  std::int64_t steps_ = 1;
  bool selects_ = false;                         ///< whether it selects its batches from arrays
  std::int64_t first_row_ = 0, batch_rows_ = 0;  ///< as in SelectedRows
  std::vector<Instruction> selection_;           ///< the instructions that select them
  std::vector<Mirror> mirrors_;
  std::unique_ptr<Device::Recording> log_recording_;
  std::size_t next_ = 0;  ///< instruction
};

/// Traces `function` on Values like `inputs`, runs it once on them and discards the plan.
std::vector<Tensor> evaluate(Device& device, std::span<const Tensor> inputs,
                             const std::function<std::vector<Value>(std::span<const Value>)>& function);

}  // namespace etude
