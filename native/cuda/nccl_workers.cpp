#include "cuda/nccl_workers.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/vendor_numbers.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

namespace number = vendor::nccl;
using std::chrono::steady_clock;

/// The mark of a blocking sum. That of a started one is its number, plus one.
constexpr std::size_t blocking_mark = 0;

/// How long the host asks without a pause. Most sums are shorter.
constexpr std::chrono::microseconds busy{200}, pause{50};

/// How long the workers may need to find out which process has ended, after NCCL or the GPU has noticed it.
constexpr std::chrono::seconds naming{1};
/// How long the last work of a communicator may take.
constexpr std::chrono::seconds closing{2};
/// How long an abort may take. NCCL does not promise an end.
constexpr std::chrono::seconds aborting{1};

/// Throws in all processes if one of them has failed: there its own error.
void expect_everywhere(Workers& workers, const std::exception_ptr& failure) {
  const std::vector<std::int64_t> fine = workers.all_gather(failure ? 0 : 1);
  if (failure) std::rethrow_exception(failure);
  const auto first = std::ranges::find(fine, 0);
  if (first == fine.end()) return;
  fail(ErrorKind::state, "NcclAllReduce", "the process of rank ", first - fine.begin(),
       " cannot use NCCL - expected all processes to connect their GPUs - see that process's error.");
}

}  // namespace

NcclWorkers::Functions NcclWorkers::Functions::of(const SharedLibrary& library) {
  Functions f{Nccl::Functions::of(library), {}, {}, {}, {}, {}};
  library.find(f.version, "ncclGetVersion");
  library.find(f.make_id, "ncclGetUniqueId");
  library.find(f.create, "ncclCommInitRankConfig");
  library.find(f.state, "ncclCommGetAsyncError");
  library.find(f.finalize, "ncclCommFinalize");
  return f;
}

const NcclWorkers::Functions& NcclWorkers::installed() {
  static const Functions& functions = *new Functions(Functions::of(*new SharedLibrary("NCCL", {"libnccl.so.2"})));
  int version = 0;
  check(functions.version(&version) == 0 && version >= number::safe_version, ErrorKind::state, "Cuda",
        "NCCL of version ", version, " - expected ", number::safe_version, " or newer - update it.");
  return functions;
}

NcclWorkers::NcclWorkers(const std::function<const Functions&()>& functions, Runtime& runtime,
                         std::shared_ptr<Workers> workers, std::size_t bucket_bytes, std::chrono::milliseconds limit)
    : runtime_(runtime), workers_(std::move(workers)), bucket_bytes_(bucket_bytes) {
  std::exception_ptr failure;
  try {
    functions_ = &functions();
    side_ = runtime_.side_queue();
  } catch (const Error&) {
    failure = std::current_exception();
  }
  expect_everywhere(*workers_, failure);
  try {
    try {
      connect(limit);
    } catch (const CollectiveError&) {
      throw;
    } catch (const Error&) {
      failure = std::current_exception();
    }
    expect_everywhere(*workers_, failure);
  } catch (...) {
    abort();
    throw;
  }
}

NcclWorkers::~NcclWorkers() {
  try {
    close();
  } catch (const Error&) {  // a process has failed
  }
  abort();
}

void NcclWorkers::connect(std::chrono::milliseconds limit) {
  const auto expect = [&](Status status) {
    check(status == 0 || status == number::in_progress, ErrorKind::state, "NcclAllReduce",
          "getting the GPUs of all processes together failed: ", functions_->text(status),
          " - expected a GPU of its own for each process, and a connection between all of them - see its log "
          "(NCCL_DEBUG=WARN).");
  };
  UniqueId id{};
  const Status made = workers_->rank() == 0 ? functions_->make_id(&id) : 0;
  workers_->broadcast(std::as_writable_bytes(std::span(id.bytes)));
  expect(made);
  runtime_.share_memory({});  // frees unused memory for NCCL
  runtime_.make_current();
  Config config{sizeof config, number::config_magic, number::config_version, 0, 0};
  expect(functions_->create(&communicator_, workers_->count(), id, workers_->rank(), &config));
  const auto began = steady_clock::now();
  wait_until("connect", [&] {
    Status state = 0;
    expect(functions_->state(communicator_, &state));
    expect(state);
    check(steady_clock::now() - began < limit, ErrorKind::state, "NcclAllReduce", "no connection after ", limit.count(),
          " ms - expected the GPUs of all processes - see its log (NCCL_DEBUG=WARN), and NCCL_SOCKET_IFNAME.");
    return state == 0;
  });
}

void NcclWorkers::all_reduce(std::span<const ReplicaSum> bucket) {
  or_abort([&] {
    enqueue(bucket, blocking_mark);
    wait_for(blocking_mark);
  });
}

void NcclWorkers::start(std::span<const ReplicaSum> bucket, int number) {
  const std::size_t mark = blocking_mark + 1 + static_cast<std::size_t>(number);
  or_abort([&] {
    enqueue(bucket, mark);
    // The first run of a plan loads kernels, for which CUDA may wait for all work. Nothing would watch meanwhile.
    if (started_.insert(bucket.data()).second) wait_for(mark);
  });
}

void NcclWorkers::await(int number, std::size_t) {
  or_abort([&] { wait_for(blocking_mark + 1 + static_cast<std::size_t>(number)); });
}

void NcclWorkers::enqueue(std::span<const ReplicaSum> bucket, std::size_t mark) {
  if (!communicator_) workers_->give_up("all_reduce", "an earlier sum failed", false);
  Status status = 0, ended = 0;
  {
    const std::lock_guard lock(runtime_);
    side_->follow();
    expect_sum(functions_->begin_group());
    for (const ReplicaSum& value : bucket)
      if (status == 0 || status == number::in_progress)
        status = functions_->all_reduce(value.parts.front(), value.sums.front(), static_cast<std::size_t>(value.count),
                                        Nccl::type_of(value.dtype), number::op_sum, communicator_, side_->stream());
    ended = functions_->end_group();  // also after a failure: otherwise the thread would stay in the group
  }
  expect_sum(status);
  expect_sum(ended);
  wait_until("all_reduce", [&] { return !is_busy(); });
  const std::lock_guard lock(runtime_);
  side_->mark(mark);
}

void NcclWorkers::wait_for(std::size_t mark) {
  wait_until("all_reduce", [&] {
    is_busy();
    const std::lock_guard lock(runtime_);
    return side_->reached(mark);
  });
  const std::lock_guard lock(runtime_);
  side_->lead(mark);
}

bool NcclWorkers::is_busy() {
  if (!communicator_) workers_->give_up("all_reduce", "an earlier sum failed", false);
  Status state = 0;
  expect_sum(functions_->state(communicator_, &state));
  expect_sum(state);
  return state == number::in_progress;
}

void NcclWorkers::expect_sum(Status status) {
  if (status == 0 || status == number::in_progress) [[likely]]
    return;
  await_failure();
  runtime_.expect_alive("a sum");
  workers_->give_up("all_reduce", std::string("NCCL: ") + functions_->text(status), status != number::remote_error);
}

void NcclWorkers::await_failure() {
  const auto began = steady_clock::now();
  for (; steady_clock::now() - began < naming; std::this_thread::sleep_for(pause)) workers_->watch("all_reduce", began);
}

template <class Done> void NcclWorkers::wait_until(const char* operation, Done done) {
  const auto began = steady_clock::now();
  while (!done()) {
    workers_->watch(operation, began);
    if (steady_clock::now() - began < busy)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(pause);
  }
}

template <class Operation> void NcclWorkers::or_abort(Operation operation) {
  try {
    operation();
  } catch (const CollectiveError&) {
    abort();
    throw;
  } catch (const Error& error) {
    abort();
    await_failure();  // the end of another process may be the reason
    try {
      workers_->give_up("all_reduce", error.what(), true);
    } catch (const CollectiveError&) {  // for the others
    }
    throw;
  }
}

void NcclWorkers::close() {
  if (!communicator_) return;
  const auto began = steady_clock::now();
  Status state = functions_->finalize(communicator_);
  while (state == number::in_progress && steady_clock::now() - began < closing) {
    workers_->watch("close", began);
    std::this_thread::sleep_for(pause);
    if (const Status asked = functions_->state(communicator_, &state)) state = asked;
  }
  if (state == 0) functions_->destroy(std::exchange(communicator_, nullptr));
}

void NcclWorkers::abort() noexcept {
  if (!communicator_) return;
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const Communicator communicator = std::exchange(communicator_, nullptr);
  try {
    const auto progress = std::make_shared<Progress>();
    std::thread([progress, communicator, abort = functions_->abort] {
      abort(communicator);
      const std::lock_guard lock(progress->mutex);
      progress->done = true;
      progress->changed.notify_all();
    }).detach();
    std::unique_lock lock(progress->mutex);
    if (progress->changed.wait_for(lock, aborting, [&] { return progress->done; })) return;
  } catch (const std::exception&) {  // no thread, or no memory
    functions_->abort(communicator);
    return;
  }
  static_cast<void>(side_.release());  // its work may never end, and its destructor would wait
}

}  // namespace etude::cuda
