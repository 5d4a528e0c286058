#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"
#include "etude/data/data_state.hpp"

namespace etude {

/// How an adapter's data can be gone through (L-18, L-19).
enum class Passes : std::uint8_t {
  one,         ///< Generators: each batch comes once, and a new epoch goes on where the last one stopped.
  each_epoch,  ///< Lists, sequences: every epoch starts at the first batch.
  stream  ///< Arrays: passes follow each other without a seam, as many as there are epochs, however epochs are cut.
};

/// Makes batches of one kind of data. The loop says `fetch`, awaits what that returned, then says `take`; nothing is
/// allocated per batch where the kind of data allows it. Source: keras/engine/data_adapter.py (2.9).
class DataAdapter {
 public:
  virtual ~DataAdapter() = default;

  /// Batches in one pass, if known.
  virtual std::optional<std::int64_t> size() const = 0;
  /// Whether a pass never ends (L-17).
  virtual bool infinite() const { return false; }
  /// Rows of every batch but perhaps the last, if known.
  virtual std::optional<std::int64_t> batch_size() const { return {}; }
  /// Rows of the last batch where it is smaller than the others.
  virtual std::optional<std::int64_t> partial_batch_size() const { return {}; }
  bool has_partial_batch() const { return partial_batch_size().has_value(); }
  virtual Passes passes() const = 0;

  /// Starts a pass from its first batch. Shuffles depend on (seed, epoch) only. Data that comes once goes on instead.
  virtual void begin_epoch(int epoch) = 0;
  /// Asks for the next batch. Null: it is there already, or `take` will wait for it.
  virtual PendingPtr fetch() = 0;
  /// The batch that was asked for, valid until the next `fetch`; nullptr: there are no more. Throws what went wrong in
  /// the making of it.
  virtual const Batch* take() = 0;
  /// A batch like those to come, for its structure, dtypes and shapes: what a model is built from. It is not used up:
  /// `take` still gives it. Asynchronous data needs a `fetch` first. nullptr: there is none.
  virtual const Batch* peek() = 0;
  /// Called after each epoch, when its validation and callbacks are done.
  virtual void on_epoch_end() {}

  /// The arrays that its batches are rows of, if they are just that.
  virtual std::shared_ptr<const Batch> arrays() const { return nullptr; }
  /// From the next fetch on, batches say which rows of the arrays they are (Batch::selection), and copy none. For an
  /// adapter that has arrays.
  virtual void select_rows() {}

  /// Where it stands after the last batch that was taken. Throws Error(state) for data that cannot be gone back to.
  virtual DataState state() const;
  /// The next batch will be the one that came next when `state` was asked for, bit for bit. Throws Error(value) for
  /// what is no state of such an adapter.
  virtual void restore(const DataState& state);
};

}  // namespace etude
