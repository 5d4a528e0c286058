#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/data/detail/generator_adapter.hpp"

/// Data whose values are row numbers, and a loop that records them.
namespace etude::samples {

using Indices = std::vector<std::int64_t>;

/// [rows, columns] with 0, 1, 2, … in reading order.
inline Tensor counting(std::int64_t rows, std::int64_t columns, DType dtype = DType::float32) {
  Tensor tensor(Shape{rows, columns}, DType::int32);
  std::iota(tensor.data<std::int32_t>().begin(), tensor.data<std::int32_t>().end(), 0);
  return tensor.astype(dtype);
}

inline Indices iota(std::int64_t count) {
  Indices numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// One batch of one row, [number].
inline Batch single(double number) {
  return {{Tensor::from<float>(Shape{1, 1}, {static_cast<float>(number)})}, {}, {}};
}

/// A generator of single(0) … single(count - 1).
inline Generator generator_of(int count, int* calls = nullptr) {
  return [count, calls, next = 0]() mutable -> std::optional<Batch> {
    if (calls) ++*calls;
    if (next == count) return {};
    return single(next++);
  };
}

/// The record of a loop: epoch indices, first and last steps of executions, the numbers in the batches, batches per
/// epoch.
struct Record {
  Indices epochs, begins, ends, seen, batches_per_epoch;
  std::string warning;
};

/// The loop of fit, which records its data.
inline Task<> loop(DataHandler& data, Record& record) {
  for (int epoch : data.enumerate_epochs()) {
    record.epochs.push_back(epoch);
    std::int64_t batches = 0;
    for (std::int64_t step : data.steps()) {
      for (std::int64_t i = 0; i <= data.step_increment(); ++i) {
        if (PendingPtr pending = data.fetch()) co_await std::move(pending);
        const Batch* batch = data.consume();
        if (!batch) {
          data.stop_iteration();
          break;
        }
        ++batches;
        record.seen.push_back(static_cast<std::int64_t>(batch->x[0].at(0)));
      }
      if (data.step_increment() < 0) break;
      record.begins.push_back(step);
      record.ends.push_back(step + data.step_increment());
    }
    record.batches_per_epoch.push_back(batches);
  }
}

}  // namespace etude::samples
