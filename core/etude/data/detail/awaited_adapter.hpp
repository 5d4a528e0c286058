#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include "etude/data/detail/data_adapter.hpp"
#include "etude/data/detail/structure.hpp"

namespace etude {

/// An adapter whose batches come from a coroutine, so the caller may have to await them. It checks each batch: its
/// arrays have the same number of rows; structure and dtypes are those of the first batch. Floats are cast to floatx()
/// (L-38). After an exception there are no more batches.
class AwaitedAdapter : public DataAdapter {
 public:
  PendingPtr fetch() override;
  const Batch* consume() override;
  const Batch* peek() override;

 protected:
  /// `where` names the kind of data in errors.
  explicit AwaitedAdapter(const char* where) : where_(where) {}
  /// The next batch, or nothing at the end of the pass.
  virtual Task<std::optional<Batch>> next() = 0;
  /// Discards the batches that are ready. `next` begins another pass, of which `consumed` batches are already consumed.
  void rewind(std::int64_t consumed = 0);
  std::int64_t consumed() const { return count_; }

 private:
  Task<> make();

  const char* where_;
  Structure structure_;
  std::optional<Batch> ready_, consumed_;
  std::exception_ptr error_;
  std::int64_t count_ = 0;
  bool ended_ = false;
};

}  // namespace etude
