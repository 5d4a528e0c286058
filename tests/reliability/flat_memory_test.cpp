#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "checkpoint_samples.hpp"
#include "etude/data/npy_writer.hpp"
#include "scratch_folder.hpp"
#include "training_samples.hpp"

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#endif

// predict_stream's memory does not depend on the number of rows.
namespace etude {
namespace {

using namespace samples;
using namespace testing;

/// The program's memory, in bytes; 0 if it is unknown.
std::size_t resident_bytes() {
#ifdef __EMSCRIPTEN__
  return emscripten_get_heap_size();  // never shrinks
#else
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
#endif
}

constexpr std::size_t allowed = std::size_t{32} << 20;
constexpr std::int64_t batch_size = 1000, features = 64;

/// Measures the memory from the first per cent of the rows on.
struct Watch {
  explicit Watch(std::int64_t all) : rows(all) {}
  void see(std::int64_t now) {
    seen += now;
    if (seen < rows / 100) return;
    const std::size_t bytes = resident_bytes();
    if (least == 0) least = bytes;
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  std::int64_t rows, seen = 0;
  std::size_t least = 0, most = 0;
};

/// Batches that are created on demand, and dropped.
Generator rows_of(std::int64_t rows) {
  return [left = rows]() mutable -> std::optional<Batch> {
    const std::int64_t now = std::min(left, batch_size);
    left -= now;
    if (now == 0) return {};
    return Batch{{waves({now, features}, static_cast<double>(left))}, {}, {}};
  };
}

std::int64_t wanted_rows() { return batch_size * rounds(200, 10'000); }

void check_flat(const Watch& watch) {
  INFO(watch.seen << " rows: " << watch.least << " to " << watch.most << " bytes");
  CHECK(watch.seen == watch.rows);
  CHECK(watch.most - watch.least < allowed);
  if (rounds(0, 1)) WARN(watch.seen << " rows: " << watch.least << " to " << watch.most << " bytes");
}

}  // namespace

TEST_CASE("predict_stream's memory is flat, from a generator of any number of rows", "[predict_stream][reliability]") {
  Watch watch(wanted_rows());
  Sequential model({layers::dense({.units = features})});
  double sum = 0;
  for (const Tensor& batch : model.predict_stream(rows_of(watch.rows), {.verbose = 0})) {
    sum += batch.at(0);
    watch.see(batch.shape()[0]);
  }
  CHECK(std::isfinite(sum));
  check_flat(watch);
}

TEST_CASE("predict_stream's memory is flat, from a dataset to a .npy file", "[predict_stream][reliability]") {
  Watch watch(wanted_rows());
  const ScratchFolder folder("etude_predict_stream");
  Sequential model(two_dense());
  const Dataset data =
      Dataset::from_generator([&] { return rows_of(watch.rows); }).prefetch(2).map([](Batch batch) { return batch; });
  const auto see = callbacks::lambda({.on_predict_batch_end = [&](std::int64_t step, Logs&) {
    watch.see(std::min(batch_size, watch.rows - step * batch_size));
  }});
  model.predict_stream(data, {.verbose = 0, .callbacks = {see}}).write_npy(folder.path() + "/out.npy");
  check_flat(watch);
  const NpyFile file(folder.path() + "/out.npy");
  CHECK(file.shape() == Shape{watch.rows, 1});
  Tensor last({1, 1});
  file.read(watch.rows - 1, watch.rows, last.raw());
  CHECK(last.item() == model.predict(waves({batch_size, features}), {.verbose = 0}).at(batch_size - 1));
}

}  // namespace etude
