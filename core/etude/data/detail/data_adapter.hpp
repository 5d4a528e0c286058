#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"
#include "etude/data/data_state.hpp"

namespace etude {

/// The passes over an adapter's data (L-18, L-19).
enum class Passes : std::uint8_t {
  one,         ///< Generators: there is one pass. A new epoch continues where the last one stopped.
  each_epoch,  ///< Lists, sequences: every epoch starts at the first batch.
  stream       ///< Arrays: passes follow each other without a gap, one per epoch, for any length of the epochs.
};

/// Makes batches from one kind of data. A loop calls `fetch`, awaits its result, then calls `consume`. No batch
/// allocates if the kind of data allows that. Source: keras/engine/data_adapter.py (2.9).
class DataAdapter {
 public:
  virtual ~DataAdapter() = default;

  /// The number of batches in one pass, if known.
  virtual std::optional<std::int64_t> size() const = 0;
  /// Whether a pass never ends (L-17).
  virtual bool infinite() const { return false; }
  /// The rows of every batch, except perhaps the last, if known.
  virtual std::optional<std::int64_t> batch_size() const { return {}; }
  /// The rows of the last batch, if it is smaller than the others.
  virtual std::optional<std::int64_t> partial_batch_size() const { return {}; }
  bool has_partial_batch() const { return partial_batch_size().has_value(); }
  virtual Passes passes() const = 0;

  /// Starts a pass from its first batch. Shuffles depend on (seed, epoch) only. Data of a single pass continues
  /// instead.
  virtual void begin_epoch(int epoch) = 0;
  /// Requests the next batch. Null: it is available, or `consume` will wait for it.
  virtual PendingPtr fetch() = 0;
  /// The requested batch, valid until the next `fetch`; nullptr at the end. Throws if making the batch failed.
  virtual const Batch* consume() = 0;
  /// A batch with the structure, dtypes and shapes of those to come, from which a model is built. It is not consumed:
  /// `consume` still returns it. Asynchronous data needs a `fetch` first. nullptr if there is none.
  virtual const Batch* peek() = 0;
  /// Called after each epoch, after its validation and callbacks.
  virtual void on_epoch_end() {}

  /// The arrays, if its batches are plain rows of arrays.
  virtual std::shared_ptr<const Batch> arrays() const { return nullptr; }
  /// Requests that, from the next fetch on, batches contain the row numbers of the arrays (Batch::selection) instead of
  /// copies. For an adapter that has arrays.
  virtual void select_rows() {}

  /// The position after the last consumed batch. Throws Error(state) for data that cannot be rewound.
  virtual DataState state() const;
  /// Returns to `state`: the next batch is the one that followed when the state was saved, bit for bit. Throws
  /// Error(value) for numbers that are not a state of such an adapter.
  virtual void restore(const DataState& state);
};

}  // namespace etude
