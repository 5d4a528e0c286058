#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "checkpoint_samples.hpp"
#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/host.hpp"
#include "etude/etude.hpp"
#include "scratch_folder.hpp"

// Every call to the system fails once.
namespace etude {
namespace {

using namespace testing;

/// The fault of the n-th call: it fails, and all later ones if `lasting`; or it writes half.
struct Fault {
  int code = 0;
  bool lasting = false, half = false;
};

struct Trial {
  /// Whether there were n calls.
  bool reached = false;
  std::string complaint;
};

/// In a folder with steps 1 and 2, saves step 3 with the fault in call `n`; then step 4 without faults.
Trial attempt(const std::string& folder, int n, const Fault& fault, bool later) {
  {
    CheckpointStore store(folder, {.files = system_vfs()});
    store.save(checkpoint_of(1));
    store.save(checkpoint_of(2));
  }
  Trial trial;
  int calls = 0;
  bool failed = false;
  const auto faulty = system_vfs([&](std::string_view, std::size_t& bytes) {
    const int call = ++calls;
    if (call != n && !(fault.lasting && call > n)) return 0;
    trial.reached = true;
    if (fault.half) bytes = (bytes + 1) / 2;
    return fault.code;
  });
  Warnings warnings;
  try {
    CheckpointStore store(folder, {.files = faulty, .warn = warnings.sink()});
    if (later)
      store.save_later(checkpoint_of(3));
    else
      store.save(checkpoint_of(3));
    store.wait();
  } catch (const Error& error) {
    failed = true;
    if (error.kind() != ErrorKind::io) trial.complaint = std::string("not an Error(io): ") + error.what();
  }
  const bool harmless = fault.half || fault.code == EINTR;
  if (failed && harmless) trial.complaint = "an interruption made it fail";
  // Everything that follows is on a working disk.
  const auto loaded = load_newest_checkpoint(folder, system_vfs(), warnings.sink());
  if (!loaded || !(is_checkpoint_of(*loaded, 3) || (failed && is_checkpoint_of(*loaded, 2))))
    trial.complaint = "the checkpoint before is gone, or the new one is not there";
  if (!trial.reached) return trial;
  CheckpointStore store(folder, {.files = system_vfs()});
  store.save(checkpoint_of(4));
  if (!is_checkpoint_of(store.load_newest().value(), 4)) trial.complaint = "step 4 cannot be loaded";
  for (const std::string& name : system_vfs()->list(folder))
    if (name.starts_with(".tmp-") || name.ends_with(".tmp")) trial.complaint = name + " is left";
  return trial;
}

/// Over a saved model, saves another one as a model.json of TensorFlow.js, with an error in call `n`. Returns whether
/// there were n calls.
bool save_tfjs_with_error(const std::string& folder, int n) {
  const std::string path = folder + "/model.json";
  const auto model_of = [](float number) {
    auto model = std::make_shared<Sequential>(std::vector<LayerPtr>{
        layers::dense({.units = 3, .kernel_initializer = initializers::constant({.value = number})})});
    model->build({-1, 2});
    return model;
  };
  model_of(1)->save(path);
  int calls = 0;
  bool failed = false;
  {
    const FilesScope files(system_vfs([&](std::string_view, std::size_t&) { return ++calls == n ? EIO : 0; }));
    try {
      model_of(2)->save(path);
    } catch (const Error& error) {
      failed = true;
      CHECK(error.kind() == ErrorKind::io);
    }
  }
  const double number = load_model(path)->get_weights().front().at(0);
  CHECK((number == 2 || (failed && number == 1)));
  return calls >= n;
}

void fail_every_call(const Fault& fault, bool later = false) {
  int n = 0;
  for (bool reached = true; reached;) {
    const ScratchFolder scratch("etude_io_errors_test", ScratchFolder::memory);
    const Trial trial = attempt(scratch.path() + "/c", ++n, fault, later);
    INFO("call " << n << ": " << trial.complaint);
    REQUIRE(trial.complaint.empty());
    reached = trial.reached;
  }
  CHECK(n > 60);
}

}  // namespace

TEST_CASE("reliability: if any system call fails, the previous checkpoint is intact and nothing is left behind",
          "[reliability]") {
  SECTION("once: no space") { fail_every_call({.code = ENOSPC}); }
  SECTION("once: a broken disk, in the background") { fail_every_call({.code = EIO}, true); }
  SECTION("from then on: no space") { fail_every_call({.code = ENOSPC, .lasting = true}); }
  SECTION("from then on: a broken disk") { fail_every_call({.code = EIO, .lasting = true}); }
}

TEST_CASE("reliability: if any system call fails, a saved model.json is complete, the previous one or the new one",
          "[reliability][saving]") {
  int n = 0;
  for (bool reached = true; reached;) {
    const ScratchFolder scratch("etude_io_errors_test", ScratchFolder::memory);
    INFO("call " << n + 1);
    reached = save_tfjs_with_error(scratch.path(), ++n);
  }
  CHECK(n > 8);
}

TEST_CASE("reliability: interrupted calls and partial writes are continued, at any call", "[reliability]") {
  SECTION("a signal") { fail_every_call({.code = EINTR}); }
  SECTION("half a read or write") { fail_every_call({.half = true}); }
}

}  // namespace etude
