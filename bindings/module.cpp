/// Functions of the whole module: seeds, memory, frames, files.
#include <emscripten.h>
#include <emscripten/heap.h>
#include <malloc.h>

#include <stdexcept>

#include "bind.hpp"

/// Replaces the runtime's own function, which adds names to the message of an abort: it is large, and useless in a
/// page.
extern "C" char* __cxa_demangle(const char*, char*, std::size_t*, int* status) {
  if (status) *status = -2;
  return nullptr;
}

namespace etude::js {
namespace {

/// The time that loops may run before they yield, in milliseconds, and the start of the current interval.
double yield_every = 16, turn_began = 0;

/// Waits until the page, or Node.js, has run its event loop.
class Turn : public PromisePending {
 public:
  Turn() : PromisePending(host("nextTurn")()) {}
  void rethrow() override {
    turn_began = emscripten_get_now();
    PromisePending::rethrow();
  }
};

PendingPtr yield_in_time() { return turn_after(yield_every); }

/// JavaScript's own regular expressions.
bool search(const std::string& pattern, const std::string& text) {
  try {
    return call(val::global("RegExp"), pattern).call<bool>("test", text);
  } catch (const Thrown& thrown) {
    throw std::invalid_argument(thrown.value["message"].as<std::string>());
  }
}

struct Memory {
  double heap_bytes, used_bytes;
};

}  // namespace

PendingPtr turn_after(double milliseconds) {
  if (emscripten_get_now() - turn_began < milliseconds) return nullptr;
  return std::make_unique<Turn>();
}

template <> struct Conversion<Memory> {
  static val to(const Memory& memory) {
    val result = val::object();
    result.set("heapBytes", memory.heap_bytes);
    result.set("usedBytes", memory.used_bytes);
    return result;
  }
  static std::string made() { return "{heapBytes: number; usedBytes: number}"; }
};

EMSCRIPTEN_BINDINGS(module) {
  if (in_worker()) return;
  etude::host().yield = yield_in_time;

  bind<"set_random_seed(seed)", set_random_seed>();
  bind<"epsilon()", epsilon>();
  bind<"set_epsilon(value)", set_epsilon>();
  bind<"image_data_format()", image_data_format>();
  bind<"set_image_data_format(data_format)", [](std::string data_format) { set_image_data_format(data_format); }>();
  bind<"set_floatx(dtype)", set_floatx>();
  bind<"set_dtype_policy(name)", [](std::string name) { set_dtype_policy(name); }>();
  bind<"dtype_policy()", [] { return std::string(dtype_policy().name()); }>();
  bind<"set_yield_every(milliseconds)", [](double milliseconds) {
    check(milliseconds >= 0, ErrorKind::value, "setYieldEvery", milliseconds,
          " ms - expected 0 or more - Infinity never yields.");
    yield_every = milliseconds;
  }>();
  bind<"set_num_threads(count)", set_num_threads>();
  bind<"num_threads()", num_threads>();
  /// The module's memory, which never shrinks, and its used part.
  bind<"memory()", [] {
    return Memory{static_cast<double>(emscripten_get_heap_size()), static_cast<double>(mallinfo().uordblks)};
  }>();
  etude::host().search = search;
}

}  // namespace etude::js
