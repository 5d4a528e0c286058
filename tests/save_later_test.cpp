#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <condition_variable>
#include <mutex>

#include "checkpoint_samples.hpp"
#include "etude/base/memory_vfs.hpp"
#include "safetensors_samples.hpp"

namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

/// Files that wait in the first open() after `close`, until `open_gate`.
class GatedFiles : public MemoryVfs {
 public:
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    std::unique_lock held(gate_);
    opened_.wait(held, [this] { return open_; });
    return MemoryVfs::open(path, append);
  }
  void set_gate(bool is_open) {
    const std::lock_guard held(gate_);
    open_ = is_open;
    opened_.notify_all();
  }

 private:
  std::mutex gate_;
  std::condition_variable opened_;
  bool open_ = true;
};

/// Files on a disk that can be full.
struct FullDisk : MemoryVfs {
  bool full = false;
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    if (full) fail_at_path(path, "written", "No space left on device");
    return MemoryVfs::open(path, append);
  }
};

}  // namespace

TEST_CASE("checkpoints: training after save_later does not change the saved file", "[saving]") {
  const auto files = std::make_shared<GatedFiles>();
  CheckpointStore store("c", {.files = files});
  for (std::int64_t step : {5, 6}) {  // the second reuses the memory of the first
    const Checkpoint training = checkpoint_of(step);
    store.wait();
#ifdef ETUDE_PREFETCH
    files->set_gate(false);  // otherwise the file is written before save_later returns
#endif
    store.save_later(training);
    for (const TensorGroup& group : training.tensors)
      for (const NamedTensor& named : group.tensors) {
        Tensor shared = named.tensor;
        std::fill_n(shared.raw(), shared.bytes(), std::byte{1});
      }
    files->set_gate(true);
    CHECK(is_checkpoint_of(store.load_newest().value(), step));
  }
  const auto now = std::make_shared<MemoryVfs>();
  CheckpointStore("c", {.files = now}).save(checkpoint_of(5));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"})
    CHECK(text_in(*files, std::string("c/ckpt-00000005/") + name) ==
          text_in(*now, std::string("c/ckpt-00000005/") + name));
}

TEST_CASE("checkpoints: a failed background save is thrown by the next call, once, and the previous one stays",
          "[saving]") {
  const auto files = std::make_shared<FullDisk>();
  Warnings warnings;
  {
    CheckpointStore store("c", {.files = files, .warn = warnings.sink()});
    store.save(checkpoint_of(1));
    files->full = true;
    store.save_later(checkpoint_of(2));
    CHECK_THAT(error_of([&] { store.save_later(checkpoint_of(3)); }), ContainsSubstring("No space left on device"));
    store.wait();
    store.save_later(checkpoint_of(3));
    CHECK_THAT(error_of([&] { store.wait(); }), ContainsSubstring("No space left on device"));
    files->full = false;
    CHECK(store.load_newest()->step == 1);
    store.save(checkpoint_of(4));
    CHECK(store.load_newest()->step == 4);
    CHECK(files->list("c") == Names{"LATEST", "LOCK", "ckpt-00000001", "ckpt-00000004"});
    CHECK(warnings.lines.empty());
    store.wait();
    files->full = true;
    store.save_later(checkpoint_of(5));
  }
  REQUIRE(warnings.lines.size() == 1);
  CHECK_THAT(warnings.lines[0],
             ContainsSubstring("the last checkpoint was not saved") && ContainsSubstring("No space"));
}

}  // namespace etude
