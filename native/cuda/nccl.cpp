#include "cuda/nccl.hpp"

#include <algorithm>
#include <utility>

#include "cuda/vendor_numbers.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

namespace number = vendor::nccl;

/// While it exists, no other thread enqueues work on any of the GPUs.
class Locked {
 public:
  explicit Locked(std::span<Runtime* const> sorted) : sorted_(sorted) {
    for (Runtime* one : sorted_) one->lock();
  }
  ~Locked() {
    for (Runtime* one : sorted_) one->unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::span<Runtime* const> sorted_;
};

}  // namespace

Nccl::Functions Nccl::Functions::of(const SharedLibrary& library) {
  Functions f;
  library.find(f.create_all, "ncclCommInitAll");
  library.find(f.destroy, "ncclCommDestroy");
  library.find(f.abort, "ncclCommAbort");
  library.find(f.begin_group, "ncclGroupStart");
  library.find(f.end_group, "ncclGroupEnd");
  library.find(f.all_reduce, "ncclAllReduce");
  library.find(f.text, "ncclGetErrorString");
  return f;
}

int Nccl::type_of(DType dtype) {
  return dtype == DType::int32      ? number::type_int32
         : dtype == DType::float64  ? number::type_float64
         : dtype == DType::float16  ? number::type_float16
         : dtype == DType::bfloat16 ? number::type_bfloat16
                                    : number::type_float32;
}

const Nccl::Functions& Nccl::installed() {
  static const Functions& functions = *new Functions(Functions::of(*new SharedLibrary("NCCL", {"libnccl.so.2"})));
  return functions;
}

Nccl::Nccl(const Functions& functions, std::vector<Runtime*> runtimes, std::size_t bucket_bytes)
    : functions_(functions), runtimes_(std::move(runtimes)), sorted_(runtimes_), bucket_bytes_(bucket_bytes) {
  std::ranges::sort(sorted_, {}, &Runtime::ordinal);
  for (Runtime* one : runtimes_) sides_.push_back(one->side_queue());
  communicators(runtimes_.size());
}

/// After a failure, communicators may wait for ever in their sums, until they are aborted.
Nccl::~Nccl() {
  const Locked locked(sorted_);
  if (!failed_)
    for (const auto& side : sides_) side->wait();
  for (const auto& [replicas, all] : communicators_)
    for (const Communicator one : all) failed_ ? functions_.abort(one) : functions_.destroy(one);
  sides_.clear();
}

void Nccl::expect(Status status, const char* what) const {
  if (status == 0) [[likely]]
    return;
  for (Runtime* one : runtimes_) one->expect_alive(what);
  fail(ErrorKind::state, "NcclAllReduce", what, " failed: ", functions_.text(status),
       " - expected a connection between all GPUs of the strategy - see its log (NCCL_DEBUG=WARN).");
}

/// The communicators of the first GPUs, one per replica.
const std::vector<Nccl::Communicator>& Nccl::communicators(std::size_t replicas) {
  const auto known = communicators_.find(replicas);
  if (known != communicators_.end()) return known->second;
  std::vector<int> gpus;
  for (std::size_t i = 0; i < replicas; ++i) gpus.push_back(runtimes_[i]->ordinal());
  for (std::size_t i = 0; i < replicas; ++i) runtimes_[i]->share_memory(gpus);
  std::vector<Communicator> made(replicas);
  expect(functions_.create_all(made.data(), static_cast<int>(replicas), gpus.data()), "getting GPUs together");
  return communicators_.emplace(replicas, std::move(made)).first->second;
}

void Nccl::all_reduce(std::span<const ReplicaSum> bucket) {
  const Locked locked(sorted_);
  Streams streams;
  for (Runtime* one : runtimes_) streams.push_back(one->stream());
  enqueue(bucket, streams);
}

void Nccl::start(std::span<const ReplicaSum> bucket, int number) {
  if (bucket.empty()) return;
  const Locked locked(sorted_);
  const auto sides = std::span(sides_).first(bucket.front().parts.size());
  Streams streams;
  for (const auto& side : sides) {
    side->follow();
    streams.push_back(side->stream());
  }
  enqueue(bucket, streams);
  try {
    for (const auto& side : sides) side->mark(static_cast<std::size_t>(number));
  } catch (...) {
    for (const auto& side : sides) side->wait();  // nothing else can wait for these sums
    throw;
  }
}

void Nccl::await(int number, std::size_t replica) {
  const std::span one(&runtimes_[replica], 1);
  const Locked locked(one);
  sides_[replica]->lead(static_cast<std::size_t>(number));
}

void Nccl::enqueue(std::span<const ReplicaSum> bucket, const Streams& streams) {
  if (bucket.empty()) return;
  const std::size_t replicas = bucket.front().parts.size();
  const std::vector<Communicator>& joined = communicators(replicas);
  expect(functions_.begin_group(), "beginning a sum");
  Status status = 0;
  for (const ReplicaSum& value : bucket)
    for (std::size_t i = 0; i < replicas && status == 0; ++i)
      status = functions_.all_reduce(value.parts[i], value.sums[i], static_cast<std::size_t>(value.count),
                                     type_of(value.dtype), number::op_sum, joined[i], streams[i]);
  const Status ended = functions_.end_group();  // also after a failure: otherwise the thread would stay in the group
  failed_ = failed_ || status != 0 || ended != 0;
  expect(status != 0 ? status : ended, "a sum");
}

}  // namespace etude::cuda
