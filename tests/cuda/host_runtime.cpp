#include "host_runtime.hpp"

#include <dlfcn.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "cuda/kernel.hpp"
#include "cuda/program_texts.hpp"
#include "etude/base/detail/denormals.hpp"
#include "runtime_under_test.hpp"
#include "scratch_folder.hpp"

namespace etude::testing {

/// The threads of a block, each with its own stack. One runs until it synchronizes, then the next one does.
class HostRuntime::Fibers : public cuda::Team {
 public:
  void run(const cuda::Kernel& kernel, std::int64_t block, const void* arguments, void* shared) {
    call_ = {&kernel, block, arguments, shared};
    if (fibers_.size() < kernel.threads) fibers_.resize(kernel.threads);
    for (std::size_t i = 0; i < kernel.threads; ++i) start(fibers_[i]);
    while (true) {
      for (current_ = 0; current_ < kernel.threads; ++current_)
        if (fibers_[current_].state == State::ready) swapcontext(&scheduler_, &fibers_[current_].context);
      if (all(0, kernel.threads, State::done)) return;
      bool released = all(0, kernel.threads, State::syncing);
      if (released)
        for (std::size_t i = 0; i < kernel.threads; ++i) fibers_[i].state = State::ready;
      for (std::size_t first = 0; first < kernel.threads; first += cuda::warp)
        if (all(first, first + cuda::warp, State::exchanging)) released = exchange(first);
      if (!released) throw std::logic_error(std::string(kernel.name) + ": threads wait for others that never come");
    }
  }

  void sync() override { wait(State::syncing); }
  std::uint64_t across(std::uint64_t bits, unsigned mask) override {
    Fiber& mine = fibers_[current_];
    mine.passed = bits;
    mine.mask = mask;
    wait(State::exchanging);
    return mine.received;
  }

 private:
  enum class State { ready, syncing, exchanging, done };
  struct Fiber {
    ucontext_t context{};
    std::vector<std::byte> stack = std::vector<std::byte>(64 * 1024);
    State state = State::done;
    std::uint64_t passed = 0, received = 0;
    unsigned mask = 0;
  };
  struct Call {
    const cuda::Kernel* kernel;
    std::int64_t block;
    const void* arguments;
    void* shared;
  };

  void start(Fiber& fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler_;
    fiber.state = State::ready;
    const auto self = reinterpret_cast<std::uintptr_t>(this);  // makecontext passes ints
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }

  static void enter(unsigned high, unsigned low) {
    Fibers& self = *reinterpret_cast<Fibers*>((std::uintptr_t{high} << 32) | low);
    const std::size_t me = self.current_;
    const auto function = reinterpret_cast<cuda::HostFunction>(const_cast<void*>(self.call_.kernel->function));
    function(self.call_.arguments, {static_cast<unsigned>(me), self.call_.block, &self}, self.call_.shared);
    self.fibers_[me].state = State::done;
  }

  void wait(State state) {
    Fiber& mine = fibers_[current_];
    mine.state = state;
    swapcontext(&mine.context, &scheduler_);
  }

  bool all(std::size_t first, std::size_t last, State state) const {
    for (std::size_t i = first; i < last; ++i)
      if (fibers_[i].state != state) return false;
    return true;
  }

  bool exchange(std::size_t first) {
    for (std::size_t i = first; i < first + cuda::warp; ++i) {
      fibers_[i].received = fibers_[i ^ fibers_[i].mask].passed;
      fibers_[i].state = State::ready;
    }
    return true;
  }

  Call call_{};
  std::vector<Fiber> fibers_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
};

struct HostRuntime::Recorded : cuda::Graph {
  std::vector<std::function<void()>> work;
};

namespace {

/// Built-in functions of compilers for GPUs.
constexpr const char* functions_text = R"(
extern "C" {
#define FUNCTION(name) float name##f(float); double name(double);
FUNCTION(atan) FUNCTION(ceil) FUNCTION(cos) FUNCTION(erf) FUNCTION(exp) FUNCTION(expm1) FUNCTION(fabs) FUNCTION(floor)
FUNCTION(log) FUNCTION(log1p) FUNCTION(sin) FUNCTION(sqrt) FUNCTION(tanh)
#undef FUNCTION
float powf(float, float);
double pow(double, double);
float fmaf(float, float, float);
double fma(double, double, double);
}
)";

/// A thread of a GPU.
constexpr const char* thread_text = R"(
#define __global__
#define __grid_constant__
#define __longlong_as_double(bits) __builtin_bit_cast(double, bits)
#define __shfl_xor_sync(threads, x, mask) (__builtin_trap(), x)
struct Index { unsigned x; };
extern "C" { Index blockIdx, blockDim, threadIdx; }
)";

/// The text before a program's text on the host: one lane, which processes everything, from the last element to the
/// first. The CPU uses the other order, so a result that overwrites elements that are still read is wrong on one of
/// them.
constexpr const char* host_text = R"(
#define ENTRY extern "C"
#define PARAMETER const struct Arguments& arguments
#define SEGMENT for (const Segment& a : arguments.of)
#define EACH_ELEMENT(W)                                             \
  const long long whole = W > 1 && a.wide ? a.count / W * W : 0;    \
  for (long long i = a.count - 1; i >= whole; --i) element<1>(a, i); \
  for (long long i = whole - W; i >= 0; i -= W) element<W>(a, i);
#define EACH_ROW for (long long row = a.count - 1; row >= 0; --row)
#define LANES 1
#define LANE 0
#define EACH for (int e = 0, column = 0; e < each; ++e, ++column)
#define INFINITE __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")
template <class T> T across_lanes(T x, int) { return x; }
)";

/// A text, compiled as a shared library.
class Library {
 public:
  explicit Library(const std::string& source) {
    const ScratchFolder folder("etude_program", ScratchFolder::memory);
    const std::string text = folder.path() + "/program.cpp", file = folder.path() + "/program.so";
    std::ofstream(text) << functions_text << source;
    const std::string command = "c++ -std=c++20 -O0 -w -ffp-contract=off -shared -fPIC " + text + " -o " + file;
    if (std::system(command.c_str()) != 0) throw std::logic_error("this program does not compile:\n" + source);
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw std::logic_error(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class T> T find(const char* name) const { return reinterpret_cast<T>(dlsym(handle_, name)); }

 private:
  void* handle_;
};

/// A program, compiled once per process: that takes longer than all computations.
struct HostProgram : cuda::CompiledProgram {
  void (*function)(const void*);
  explicit HostProgram(const std::string& source) : function(once(source).find<void (*)(const void*)>("program")) {}

  static const Library& once(const std::string& source) {
    static std::map<std::string, Library> all;
    return all.try_emplace(source, host_text + source).first->second;
  }
};

/// Denormals of float32 are 0, for any floating-point mode of the thread that queues the work.
void run_as_gpu(const std::function<void()>& work) {
  const FlushDenormals mode;
  work();
}

std::vector<std::byte> copy_of(const void* bytes, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(bytes);
  return {first, first + count};
}

}  // namespace

HostRuntime::HostRuntime(bool has_vendor, int ordinal)
    : has_vendor_(has_vendor), ordinal_(ordinal), fibers_(std::make_unique<Fibers>()) {}
HostRuntime::~HostRuntime() = default;

std::byte* HostRuntime::allocate(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 256) / 256 * 256));
  std::memset(memory, 0, bytes);
  blocks_[memory] = bytes;
  return memory;
}

void HostRuntime::release(std::byte* memory) noexcept {
  blocks_.erase(memory);
  std::free(memory);
}

void HostRuntime::expect_here(const std::byte* memory, std::size_t bytes) const {
  const auto after = blocks_.upper_bound(memory);
  if (after == blocks_.begin() || memory + bytes > std::prev(after)->first + std::prev(after)->second)
    throw std::logic_error("an address that is none of this device");
}

void HostRuntime::queue(std::function<void()> work) {
  if (recording_)
    recording_->work.push_back(std::move(work));
  else
    run_as_gpu(work);
}

void HostRuntime::upload(std::byte* to, const void* from, std::size_t bytes) {
  expect_here(to, bytes);
  std::memcpy(to, from, bytes);
}

void HostRuntime::download(void* to, const std::byte* from, std::size_t bytes) {
  expect_here(from, bytes);
  std::memcpy(to, from, bytes);
}

void HostRuntime::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  expect_here(to, bytes);
  expect_here(from, bytes);
  queue([=] { std::memmove(to, from, bytes); });
}

void HostRuntime::launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) {
  queue([this, &kernel, blocks, own = copy_of(arguments, kernel.arguments_bytes)] {
    run_blocks(kernel, blocks, own.data());
  });
}

void HostRuntime::run_blocks(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) {
  const auto function = reinterpret_cast<cuda::HostFunction>(const_cast<void*>(kernel.function));
  std::vector<std::max_align_t> shared((kernel.shared_bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  for (std::int64_t number = 0; number < blocks; ++number) {
    // In an order on which no kernel may rely.
    const std::int64_t block = first_block_first ? number : blocks - 1 - number;
    // Shared memory does not keep the contents of an earlier block: NaN in every type.
    if (!shared.empty()) std::memset(shared.data(), 0xff, kernel.shared_bytes);
    if (kernel.threads_meet)
      fibers_->run(kernel, block, arguments, shared.data());
    else
      for (unsigned thread = 0; thread < kernel.threads; ++thread)
        function(arguments, {thread, block, nullptr}, shared.data());
  }
}

bool HostRuntime::multiply(const cuda::MatrixProduct& product) {
  if (!multiplies(product)) return false;
  const cuda::MatrixProduct& p = product;
  const auto expect_whole = [&](const cuda::MatrixProduct::Matrix& of, std::int64_t rows, std::int64_t columns) {
    if (of.transposed) std::swap(rows, columns);
    const std::int64_t last = (p.count - 1) * of.stride + (rows - 1) * of.distance + columns - 1;
    expect_here(of.data, static_cast<std::size_t>(last + 1) * size_of(p.dtype));
  };
  expect_whole(p.a, p.m, p.k);
  expect_whole(p.b, p.k, p.n);
  expect_whole(p.c, p.m, p.n);
  if (p.bias) expect_here(p.bias, static_cast<std::size_t>(p.n) * size_of(p.dtype));
  expect_here(p.workspace, product_workspace());
  queue([p, workspace = product_workspace()] {
    std::memset(p.workspace, 0xff, workspace);  // NaN for code that keeps data there
    visit_dtype(p.dtype, [&]<class T>(T) {
      const auto at = [](const cuda::MatrixProduct::Matrix& of, std::int64_t matrix, std::int64_t row,
                         std::int64_t column) -> T& {
        if (of.transposed) std::swap(row, column);
        return reinterpret_cast<T*>(of.data)[matrix * of.stride + row * of.distance + column];
      };
      for (std::int64_t matrix = 0; matrix < p.count; ++matrix)
        for (std::int64_t i = 0; i < p.m; ++i)
          for (std::int64_t j = 0; j < p.n; ++j) {
            double sum = p.bias ? static_cast<double>(reinterpret_cast<const T*>(p.bias)[j]) : 0;
            for (std::int64_t l = 0; l < p.k; ++l)
              sum += static_cast<double>(at(p.a, matrix, i, l)) * static_cast<double>(at(p.b, matrix, l, j));
            at(p.c, matrix, i, j) = static_cast<T>(sum);
          }
    });
  });
  return true;
}

std::vector<std::unique_ptr<cuda::CompiledProgram>> HostRuntime::compile(std::span<const std::string> sources) {
  std::vector<std::unique_ptr<cuda::CompiledProgram>> programs;
  for (const std::string& source : sources) programs.push_back(std::make_unique<HostProgram>(source));
  return programs;
}

void HostRuntime::launch(const cuda::CompiledProgram& program, std::int64_t, unsigned, const void* arguments,
                         std::size_t bytes) {
  const auto function = static_cast<const HostProgram&>(program).function;
  queue([function, own = copy_of(arguments, bytes)] { function(own.data()); });
}

std::unique_ptr<cuda::Graph> HostRuntime::record(const std::function<void()>& work) {
  recording_ = std::make_unique<Recorded>();
  try {
    work();
  } catch (...) {
    recording_.reset();
    throw;
  }
  return std::move(recording_);
}

void HostRuntime::launch(const cuda::Graph& graph) {
  for (const std::function<void()>& work : static_cast<const Recorded&>(graph).work) run_as_gpu(work);
}

std::unique_ptr<cuda::Runtime> runtime_under_test(int number) { return std::make_unique<HostRuntime>(false, number); }

int gpus_under_test() { return 4; }

void run_threads(const std::string& source, std::int64_t blocks, unsigned threads, const void* arguments) {
  constexpr const char* entry = R"(
extern "C" void run(const void* arguments) { program(*static_cast<const Arguments*>(arguments)); }
)";
  const Library library(thread_text + std::string(cuda::device_text) + source + entry);
  const auto function = library.find<void (*)(const void*)>("run");
  unsigned *block = library.find<unsigned*>("blockIdx"), *thread = library.find<unsigned*>("threadIdx");
  *library.find<unsigned*>("blockDim") = threads;
  for (*block = 0; *block < blocks; ++*block)
    for (*thread = 0; *thread < threads; ++*thread) function(arguments);
}

}  // namespace etude::testing
