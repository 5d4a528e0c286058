#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "etude/data/detail/data_adapter.hpp"
#include "etude/data/detail/structure.hpp"

namespace etude {

/// A sequence of batches, possibly asynchronous. The interface for generators of other languages.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Requests the next batch. Null: `consume` has it.
  virtual PendingPtr fetch() { return nullptr; }
  /// The requested batch; empty at the end. Not called after the end or an exception.
  virtual std::optional<Batch> consume() = 0;
};

/// Returns one batch per call, and an empty optional at the end.
using Generator = std::function<std::optional<Batch>()>;

struct GeneratorOptions {
  /// 0: the generator runs on the caller's thread when a batch is needed. 1 or more: it runs on one thread of its own,
  /// one batch in advance, and must not share unguarded data with callbacks; without support for threads, on the
  /// caller's thread.
  int workers = 0;
};

/// The batches of a generator. Their number is unknown, they are never shuffled, and there is only one pass (L-16,
/// L-19). Each batch is checked: its arrays have the same number of rows; structure and dtypes are those of the first.
/// Floats are cast to floatx(). After an exception of the generator there are no more batches. Source:
/// GeneratorDataAdapter in Keras 2.9.
class GeneratorAdapter : public DataAdapter {
 public:
  /// Calls the generator once, so that a model can be built from `peek`. Throws Error(data) if it returns no batch.
  explicit GeneratorAdapter(Generator generator, const GeneratorOptions& options = {});
  /// Requests nothing yet: `peek` has a batch after the first `fetch`.
  explicit GeneratorAdapter(std::unique_ptr<BatchSource> source);

  std::optional<std::int64_t> size() const override { return {}; }
  Passes passes() const override { return Passes::one; }
  void begin_epoch(int) override {}
  PendingPtr fetch() override;
  const Batch* consume() override;
  const Batch* peek() override;
  /// The number of consumed batches.
  DataState state() const override { return {count_}; }
  /// Requests the batches before `state` again, and skips them: the generator is a new one, for example after a restart
  /// of the program, and begins at its first batch. Throws Error(state) if more batches than those were consumed from
  /// this one. The next `fetch` throws Error(data) if it has fewer.
  void restore(const DataState& state) override;

 private:
  std::optional<Batch> next();
  Task<> skip_batches();
  void catch_up();

  std::unique_ptr<BatchSource> source_;
  std::optional<Batch> peeked_, consumed_;
  Structure structure_;
  std::int64_t count_ = 0, to_skip_ = 0;
  bool ended_ = false;
};

}  // namespace etude
