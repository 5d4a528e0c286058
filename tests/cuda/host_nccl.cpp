#include "host_nccl.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "etude/base/half.hpp"
#include "host_stream.hpp"
#include "runtime_under_test.hpp"

// GPUs that one call of NCCL connected.
struct etude::cuda::ncclComm {
  std::shared_ptr<const std::vector<int>> gpus;
  std::size_t rank;
  std::shared_ptr<int> queued = std::make_shared<int>(0);  // sums that its stream has not reached yet
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
  std::shared_ptr<HostStream> stream;
};

int depth = 0;             // of groups
std::vector<Call> called;  // within the group
int failed = success;      // the status of a call within the group

int create_all(ncclComm** made, int count, const int* gpus) {
  if (std::set<int>(gpus, gpus + count).size() != static_cast<std::size_t>(count)) return invalid_usage;
  const auto all = std::make_shared<const std::vector<int>>(gpus, gpus + count);
  for (std::size_t rank = 0; rank < all->size(); ++rank) made[rank] = new ncclComm{all, rank};
  host_nccl::counts().alive += count;
  return success;
}

int destroy(ncclComm* communicator) {
  host_nccl::counts().destroyed_early += *communicator->queued > 0;
  delete communicator;
  --host_nccl::counts().alive;
  return success;
}

int abort_communicator(ncclComm* communicator) {
  ++host_nccl::counts().aborted;
  *communicator->queued = 0;  // no sum is pending
  return destroy(communicator);
}

std::size_t size_of_type(int type) { return type == 8 ? 8 : type == 6 || type == 9 ? 2 : 4; }

template <class T> std::vector<std::byte> add_up(const std::vector<Call>& ranks) {
  const auto numbers = [](const std::byte* at) { return reinterpret_cast<const T*>(at); };
  std::vector<T> total(numbers(ranks[0].part), numbers(ranks[0].part) + ranks[0].count);
  for (std::size_t rank = 1; rank < ranks.size(); ++rank)
    for (std::size_t i = 0; i < total.size(); ++i) total[i] = static_cast<T>(total[i] + numbers(ranks[rank].part)[i]);
  const auto* bytes = reinterpret_cast<const std::byte*>(total.data());
  return {bytes, bytes + total.size() * sizeof(T)};
}

std::vector<std::byte> add_up_any(const std::vector<Call>& ranks) {
  switch (ranks[0].type) {
    case 2: return add_up<std::int32_t>(ranks);
    case 6: return add_up<Float16>(ranks);
    case 7: return add_up<float>(ranks);
    case 8: return add_up<double>(ranks);
    case 9: return add_up<BFloat16>(ranks);
    default: throw std::logic_error("a dtype without all-reduce");
  }
}

/// A sum that all ranks have reached. The first rank that executes its part lets the others execute their earlier work.
struct Meeting {
  std::vector<Call> ranks;
  std::vector<std::function<void()>> before;  // by rank
  std::vector<std::byte> total;
  std::size_t written = 0;

  void run(std::size_t rank) {
    if (written == 0) {
      for (const std::function<void()>& work : before) work();
      for (const Call& one : ranks) one.stream->expect_usable(one.part, one.count * size_of_type(one.type));
      total = add_up_any(ranks);
    }
    ranks[rank].stream->expect_usable(ranks[rank].sum, total.size());
    std::memcpy(ranks[rank].sum, total.data(), total.size());
    written = (written + 1) % ranks.size();
  }
};

int begin_group() {
  ++depth;
  return success;
}

int end_group() {
  if (--depth > 0) return success;
  if (const int status = std::exchange(failed, success)) {  // then no part of the group is started
    called.clear();
    return status;
  }
  // The ranks of one communicator meet in the order of their calls.
  std::map<const void*, std::vector<std::vector<Call>>> by_rank;
  for (const Call& call : std::exchange(called, {})) {
    auto& ranks = by_rank[call.communicator->gpus.get()];
    ranks.resize(call.communicator->gpus->size());
    ranks[call.communicator->rank].push_back(call);
  }
  for (const auto& [gpus, ranks] : by_rank)
    for (std::size_t turn = 0; turn < ranks[0].size(); ++turn) {
      const auto meeting = std::make_shared<Meeting>();
      for (const std::vector<Call>& calls : ranks) {
        if (calls.size() != ranks[0].size()) throw std::logic_error("a rank waits for another that never comes");
        meeting->ranks.push_back(calls[turn]);
        meeting->before.push_back(calls[turn].stream->so_far());
        const Call &own = calls[turn], &first = meeting->ranks[0];
        if (own.count != first.count || own.type != first.type) throw std::logic_error("ranks that join other things");
        if (own.stream->recording() && ranks.size() > 1)
          throw std::logic_error("several GPUs of one thread within a graph, which may wait for each other");
      }
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const Call& own = ranks[rank][turn];
        ++*own.communicator->queued;
        own.stream->queue([meeting, rank, queued = own.communicator->queued] {
          meeting->run(rank);
          *queued = std::max(*queued - 1, 0);  // a recording's sums are executed more than once
        });
      }
    }
  return success;
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

int host_nccl::all_reduce(std::shared_ptr<HostStream> stream, const void* part, void* sum, std::size_t count, int type,
                          int op, ncclComm* communicator) {
  if (const int status = std::exchange(next_status(), success)) {
    if (depth > 0) failed = status;
    return status;
  }
  if (op != 0) throw std::logic_error("no sum");
  if (depth == 0 && communicator->gpus->size() > 1) throw std::logic_error("the first GPU waits for the second one");
  if (!stream->locked()) throw std::logic_error("others may queue something in between");
  if (stream->gpu() != (*communicator->gpus)[communicator->rank]) return invalid_usage;
  const Call call{
      static_cast<const std::byte*>(part), static_cast<std::byte*>(sum), count, type, communicator, std::move(stream)};
  call.stream->expect_here(call.part, count * size_of_type(type));
  call.stream->expect_here(call.sum, count * size_of_type(type));
  begin_group();
  called.push_back(call);
  return end_group();
}

Nccl::Functions host_nccl::functions(decltype(Nccl::Functions::all_reduce) all_reduce) {
  return {create_all, destroy, abort_communicator, begin_group, end_group, all_reduce, text};
}

const Nccl::Functions& nccl_under_test() {
  static const Nccl::Functions functions =
      host_nccl::functions([](const void* part, void* sum, std::size_t count, int type, int op, ncclComm* communicator,
                              CUstream_st* stream) {
        const std::shared_ptr<HostStream> of_runtime(std::shared_ptr<void>(), reinterpret_cast<HostStream*>(stream));
        return host_nccl::all_reduce(of_runtime, part, sum, count, type, op, communicator);
      });
  return functions;
}

}  // namespace etude::testing
