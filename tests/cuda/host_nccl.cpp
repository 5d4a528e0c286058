#include "host_nccl.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "etude/base/half.hpp"
#include "host_runtime.hpp"
#include "runtime_under_test.hpp"

// GPUs that one communicator call got together.
struct etude::cuda::ncclComm {
  std::shared_ptr<const std::vector<int>> gpus;
  std::size_t rank;
};

namespace etude::testing {
namespace {

using cuda::Nccl;
using cuda::ncclComm;

constexpr int success = 0, internal_error = 3, invalid_usage = 5;

/// A rank's part of a sum.
struct Call {
  const std::byte* part;
  std::byte* sum;
  std::size_t count;
  int type;
  ncclComm* communicator;
  HostRuntime* runtime;
};

int depth = 0;             // of groups
std::vector<Call> called;  // within the group

int create_all(ncclComm** made, int count, const int* gpus) {
  if (std::set<int>(gpus, gpus + count).size() != static_cast<std::size_t>(count)) return invalid_usage;
  const auto all = std::make_shared<const std::vector<int>>(gpus, gpus + count);
  for (std::size_t rank = 0; rank < all->size(); ++rank) made[rank] = new ncclComm{all, rank};
  host_nccl::counts().alive += count;
  return success;
}

int destroy(ncclComm* communicator) {
  delete communicator;
  --host_nccl::counts().alive;
  return success;
}

int abort_communicator(ncclComm* communicator) {
  ++host_nccl::counts().aborted;
  return destroy(communicator);
}

template <class T> void add_up(const std::vector<Call>& ranks) {
  const auto numbers = [](const std::byte* at) { return reinterpret_cast<const T*>(at); };
  std::vector<T> total(numbers(ranks[0].part), numbers(ranks[0].part) + ranks[0].count);
  for (std::size_t rank = 1; rank < ranks.size(); ++rank)
    for (std::size_t i = 0; i < total.size(); ++i) total[i] = static_cast<T>(total[i] + numbers(ranks[rank].part)[i]);
  for (const Call& one : ranks) std::memcpy(one.sum, total.data(), total.size() * sizeof(T));
}

/// What all ranks have come to.
void add_up_any(const std::vector<Call>& ranks) {
  switch (ranks[0].type) {
    case 2: return add_up<std::int32_t>(ranks);
    case 6: return add_up<Float16>(ranks);
    case 7: return add_up<float>(ranks);
    case 8: return add_up<double>(ranks);
    case 9: return add_up<BFloat16>(ranks);
    default: throw std::logic_error("a type that nobody joins");
  }
}

int begin_group() {
  ++depth;
  return success;
}

int end_group() {
  if (--depth > 0) return success;
  // The ranks of one communicator meet in the order of their calls.
  std::map<const void*, std::vector<std::vector<Call>>> by_rank;
  for (const Call& call : std::exchange(called, {})) {
    auto& ranks = by_rank[call.communicator->gpus.get()];
    ranks.resize(call.communicator->gpus->size());
    ranks[call.communicator->rank].push_back(call);
  }
  for (const auto& [gpus, ranks] : by_rank)
    for (std::size_t turn = 0; turn < ranks[0].size(); ++turn) {
      std::vector<Call> meeting;
      for (const std::vector<Call>& calls : ranks) {
        if (calls.size() != ranks[0].size()) throw std::logic_error("a rank waits for another that never comes");
        meeting.push_back(calls[turn]);
        const Call &own = calls[turn], &first = meeting[0];
        if (own.count != first.count || own.type != first.type) throw std::logic_error("ranks that join other things");
        if (own.runtime->recording() && ranks.size() > 1)
          throw std::logic_error("several GPUs of one thread within a graph, which may wait for each other");
      }
      meeting[0].runtime->queue([meeting] { add_up_any(meeting); });
    }
  return success;
}

int all_reduce(const void* part, void* sum, std::size_t count, int type, int op, ncclComm* communicator,
               CUstream_st* stream) {
  if (const int status = std::exchange(host_nccl::next_status(), success)) return status;
  if (op != 0) throw std::logic_error("no sum");
  if (depth == 0 && communicator->gpus->size() > 1) throw std::logic_error("the first GPU waits for the second one");
  auto* runtime = reinterpret_cast<HostRuntime*>(stream);
  if (!runtime->locked()) throw std::logic_error("others may queue something in between");
  if (runtime->ordinal() != (*communicator->gpus)[communicator->rank]) return invalid_usage;
  const std::size_t bytes = count * (type == 8 ? 8 : type == 6 || type == 9 ? 2 : 4);
  const Call call{
      static_cast<const std::byte*>(part), static_cast<std::byte*>(sum), count, type, communicator, runtime};
  runtime->expect_here(call.part, bytes);
  runtime->expect_here(call.sum, bytes);
  begin_group();
  called.push_back(call);
  return end_group();
}

const char* text(int status) { return status == internal_error ? "internal error" : "invalid usage"; }

}  // namespace

host_nccl::Counts& host_nccl::counts() {
  static Counts counts;
  return counts;
}

int& host_nccl::next_status() {
  static int status = success;
  return status;
}

const Nccl::Functions& nccl_under_test() {
  static const Nccl::Functions functions{create_all, destroy, abort_communicator, begin_group, end_group,
                                         all_reduce, text};
  return functions;
}

}  // namespace etude::testing
