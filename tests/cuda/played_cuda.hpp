#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/runtime.hpp"

/// CUDA, played on the host: what is queued on a stream is done when the host waits for it, and no sooner; or at once,
/// if that is wished. Whoever counts on another moment, or takes back memory that queued work still reads, sees it
/// here. Copies between what was not allocated, work of another GPU than the current one, and what must not be asked
/// for within a capture are errors.
namespace etude::testing::played {

/// Handles and blocks that nobody has given back yet.
struct Alive {
  int streams = 0, events = 0, graphs = 0, programs = 0, blocks = 0, host_blocks = 0;
  friend bool operator==(const Alive&, const Alive&) = default;
};
Alive alive();

/// Bytes that each of the GPUs has.
std::size_t& room();
/// Whether they have room for graphs.
bool& room_for_graphs();

/// Whether streams that are made from now on do at once what is queued there.
bool& early();
/// Bytes that copies from the host's memory have brought so far.
std::size_t uploaded();

enum class Fault {
  no_memory,         ///< once
  out_of_resources,  ///< once; cudaErrorLaunchOutOfResources
  invalid_value,     ///< once
  lost,              ///< an illegal access, after which every call fails
  lost_in_queue      ///< the same, of queued work: it is that item which counts, and no call
};
/// The call of CUDA with this number from now on, counted from 1, fails. 0: no call fails any more, and the GPUs work.
void fail_call(std::int64_t number, Fault fault = Fault::no_memory);
/// Whether that call has come.
bool has_failed();
/// Whether runtimes that are opened from now on have cuBLASLt, the host's, whose calls fail as CUDA's do. Initially
/// not.
bool& has_products();

/// One of the two GPUs, by the runtime that a real one has.
std::unique_ptr<cuda::Runtime> runtime(int ordinal = 0);

}  // namespace etude::testing::played
