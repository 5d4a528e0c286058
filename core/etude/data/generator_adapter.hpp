#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "etude/data/data_adapter.hpp"
#include "etude/data/structure.hpp"

namespace etude {

/// Where batches come from one after the other, perhaps later: the seam for generators of other languages.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Asks for the next batch. Null: `take` has it.
  virtual PendingPtr fetch() { return nullptr; }
  /// The batch that was asked for; empty at the end. Not called again after the end or an exception.
  virtual std::optional<Batch> take() = 0;
};

/// Gives one batch per call, and nothing at the end.
using Generator = std::function<std::optional<Batch>()>;

struct GeneratorOptions {
  /// 0: the generator runs on the caller's thread, when a batch is needed. 1 or more: it runs on one thread of its own,
  /// one batch ahead, and must not share unguarded data with callbacks; the caller's thread where there are no threads.
  int workers = 0;
};

/// Batches of a generator: their number is not known, they are never shuffled, and none comes twice (L-16, L-19).
/// Each is checked: rows agree within it, and structure and dtypes agree with the first. Floats are cast to floatx().
/// After an exception of the generator there are no more batches. Source: GeneratorDataAdapter in Keras 2.9.
class GeneratorAdapter : public DataAdapter {
 public:
  /// Calls the generator once, so that a model can be built from `peek`. Throws Error(data) when it gives nothing.
  explicit GeneratorAdapter(Generator generator, const GeneratorOptions& options = {});
  /// Asks for nothing yet: `peek` has a batch once the first `fetch` is done.
  explicit GeneratorAdapter(std::unique_ptr<BatchSource> source);

  std::optional<std::int64_t> size() const override { return {}; }
  Passes passes() const override { return Passes::one; }
  void begin_epoch(int) override {}
  PendingPtr fetch() override;
  const Batch* take() override;
  const Batch* peek() override;
  /// How many batches were taken.
  DataState state() const override { return {count_}; }
  /// The batches up to there are asked for once more, and passed over: a generator made anew, as by a program that is
  /// started again, begins at its first batch. Throws Error(state) if more than those were taken from this one; the
  /// next `fetch` throws Error(data) if it has fewer.
  void restore(const DataState& state) override;

 private:
  std::optional<Batch> next();
  Task<> pass_over();
  void catch_up();

  std::unique_ptr<BatchSource> source_;
  std::optional<Batch> peeked_, taken_;
  Structure structure_;
  std::int64_t count_ = 0, passing_over_ = 0;
  bool ended_ = false;
};

}  // namespace etude
