#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// The memory that the plans of one model share: as large as the largest of them needs.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  Device& device() const { return device_; }
  std::size_t bytes() const { return storage_ ? storage_->bytes() : 0; }
  std::byte* address() const { return storage_ ? storage_->address() : nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  /// Makes it at least that large. What it held is gone.
  void reserve(std::size_t bytes);
  /// Goes up with every step that runs in it: what an earlier step left here may be gone.
  std::uint64_t generation = 0;

 private:
  Device& device_;
  std::shared_ptr<Storage> storage_;
};

/// A batch that is selected on the device: each input is rows of one of `arrays`.
struct SelectedRows {
  std::span<const std::shared_ptr<Storage>> arrays;
  /// Numbers, int32: how far the steps have come, then the rows of all batches, one behind the other. A step takes its
  /// own from there, `first` rows behind where its batch begins, and adds `batch` to the first number.
  Storage* order;
  std::int64_t first, batch;
};

/// A step, compiled: instructions in order, with all memory laid out. Running it allocates nothing and calls back into
/// nothing.
class Plan {
 public:
  /// Compiles what `results`, `logs` and the graph's assignments need. Results can be read after run(); logs are
  /// scalars that are computed when run_logs() asks for them, after a step, as far as they do not depend on what the
  /// step overwrites.
  /// `steps`: how many batches are to be taken before they run.
  Plan(const Graph& graph, std::span<const Value> results, std::span<const Value> logs, std::shared_ptr<Arena> arena,
       const Replica& replica = {}, std::int64_t steps = 1);

  /// Runs the step on the batch whose tensors begin at `inputs`, in the order of the graph's inputs.
  void run(std::span<const std::byte* const> inputs);

  // The same in parts: take() each batch, begin(), and for each in turn enter() its step and
  // advance() until that is null; then end().

  /// How many batches it can take: one, unless the device has a memory of its own, where they can wait.
  std::int64_t steps() const { return steps_; }
  void take(std::span<const std::byte* const> inputs, std::int64_t step = 0);
  /// For a device that has a memory of its own. All steps until end() take their batches in the same way.
  void take(const SelectedRows& rows, std::int64_t step = 0);
  void begin();
  void enter(std::int64_t step);
  /// Runs all up to the next place where replicas join, and says what they join there; null: the step is over. With
  /// `kept`, the device may replay a recording of that.
  const instruction::AllReduce* advance(std::unique_ptr<Device::Recording>* kept = nullptr);
  void end();
  /// Where each space lies in the step that was entered.
  Addresses addresses() const { return addresses_; }
  /// Where an operand lies in the step that was entered.
  std::byte* address(const Operand& operand) const {
    return addresses_[static_cast<std::size_t>(operand.space)] + operand.offset;
  }
  /// Computes the logs from what the last step left.
  void run_logs();

  std::size_t result_count() const { return lowered_.results.size(); }
  const Shape& result_shape(std::size_t index) const { return lowered_.results[index].shape; }
  DType result_dtype(std::size_t index) const { return lowered_.results[index].operand.dtype; }
  /// Copies result `index` to the host.
  void read_result(std::size_t index, std::byte* out) const;
  Tensor result(std::size_t index) const;
  double log(std::size_t index) const;

  const std::vector<Instruction>& instructions() const { return lowered_.instructions; }
  const std::vector<Instruction>& log_instructions() const { return lowered_.log_instructions; }
  std::size_t arena_bytes() const { return lowered_.arena_bytes; }
  Arena& arena() const { return *arena_; }
  Device& device() const { return arena_->device(); }

 private:
  /// A storage that the device cannot reach, and its copy there, which is made before a step and read back after it.
  struct Mirror {
    std::size_t space;
    std::shared_ptr<Storage> of, copy;
  };

  /// An input of a batch, in the device's own memory.
  struct Place {
    Shape shape;
    DType dtype;
    std::size_t offset;  ///< in the batch
  };

  void lay_out_batches(const Graph& graph, std::int64_t steps);
  void check_step(std::size_t inputs, std::int64_t step) const;
  void prepare_selection(std::int64_t first_row, std::int64_t batch_rows);
  const Storage& storage_of(const Operand& operand) const;

  std::shared_ptr<Arena> arena_;
  Lowered lowered_;
  std::vector<std::byte*> addresses_;
  /// Where batches are taken, for a device that does not reach the host's memory: each input of each step has a place.
  std::shared_ptr<Storage> batches_;
  std::vector<Place> places_;
  std::size_t batch_bytes_ = 0;
  std::int64_t steps_ = 1;
  bool selects_ = false;                         ///< its batches, from arrays
  std::int64_t first_row_ = 0, batch_rows_ = 0;  ///< as SelectedRows has them
  std::vector<Instruction> selection_;           ///< what selects them
  std::vector<Mirror> mirrors_;
  std::unique_ptr<Device::Recording> log_recording_;
  std::size_t next_ = 0;  ///< instruction
};

/// Traces `function` on Values like `inputs`, runs it once on them and throws the plan away.
std::vector<Tensor> evaluate(Device& device, std::span<const Tensor> inputs,
                             const std::function<std::vector<Value>(std::span<const Value>)>& function);

}  // namespace etude
