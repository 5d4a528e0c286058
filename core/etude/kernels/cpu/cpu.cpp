#include "etude/kernels/cpu/cpu.hpp"

#include <algorithm>
#include <cstring>

#include "etude/base/random.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"
#include "etude/kernels/cpu/launch.hpp"
#include "etude/kernels/cpu/program_runner.hpp"

namespace etude {

using cpu::at;
using cpu::row_grain;
using cpu::split;
using cpu::with_float;
using cpu::workers;
using instruction::ArgMax;
using instruction::Copy;
using instruction::Crossentropy;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::OneHot;
using instruction::Segment;

namespace {

/// The least number of rows for which reading the shared weights once more pays.
constexpr std::int64_t rows_of_loop = 16;

}  // namespace

Device& cpu_device() {
  static Cpu device;
  return device;
}

void Cpu::compute(const Elementwise& instruction, Addresses addresses) {
  for (const Segment& segment : instruction.segments)
    split(segment.size, 32 * cpu::tile_of(instruction.program, segment), [&](std::int64_t begin, std::int64_t end) {
      cpu::run_program(kernels_, instruction.program, segment, begin, end, addresses);
    });
}

/// The bytes of workspace that a product needs on this many threads.
std::size_t Cpu::gemm_workspace(const Gemm& gemm, int threads) const {
  const DType dtype = gemm.c.operand.dtype;
  const std::int64_t elements =
      (dtype == DType::float64 ? kernels_.float64.gemm_workspace : kernels_.float32.gemm_workspace)(
          gemm.m, gemm.n, gemm.k, gemm.batch.size(), threads);
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

std::size_t Cpu::wanted_workspace(const Gemm& gemm) const { return gemm_workspace(gemm, thread_pool().count()); }

template <class T>
void Cpu::gemm(const Gemm& g, Addresses addresses, std::int64_t first, std::int64_t count,
               const cpu::Workers& threads) {
  cpu::GemmArguments<T> arguments{};
  arguments.m = count;
  arguments.n = g.n;
  arguments.k = g.k;
  arguments.a = at<const T>(addresses, g.a.operand) + first * g.a.distance;
  arguments.lda = g.a.distance;
  arguments.transpose_a = g.a.transposed;
  arguments.b = at<const T>(addresses, g.b.operand);
  arguments.ldb = g.b.distance;
  arguments.transpose_b = g.b.transposed;
  arguments.c = at<T>(addresses, g.c.operand) + first * g.c.distance;
  arguments.ldc = g.c.distance;
  arguments.batch = {static_cast<int>(g.batch.rank()), g.batch.begin(), g.a.strides.begin(), g.b.strides.begin(),
                     g.c.strides.begin()};
  arguments.workspace = g.workspace.space < 0 ? nullptr : at<T>(addresses, g.workspace);
  cpu::Epilogue epilogue{kernels_, g.epilogue ? &*g.epilogue : nullptr, g.n, addresses, first};
  epilogue.join(arguments);
  cpu::float_kernels<T>(kernels_).gemm(arguments, threads);
}

void Cpu::compute(const Gemm& g, Addresses addresses) {
  const cpu::Workers all = cpu::workers_within(g.workspace_bytes, [&](int count) { return gemm_workspace(g, count); });
  with_float(g.c.operand.dtype, [&]<class T>(T) { gemm<T>(g, addresses, 0, g.m, all); });
}

int Cpu::loop_arenas() const { return thread_pool().count(); }

void Cpu::run_rows(const Instruction& instruction, const instruction::Scan& scan, std::int64_t first, std::int64_t last,
                   Addresses addresses) {
  if (const auto* g = std::get_if<Gemm>(&instruction)) {
    with_float(g->c.operand.dtype, [&]<class T>(T) { gemm<T>(*g, addresses, first, last - first, {}); });
    return;
  }
  const Elementwise& elementwise = std::get<Elementwise>(instruction);
  for (const Segment& segment : elementwise.segments) {
    const std::int64_t row = segment.size / scan.rows;
    cpu::run_program(kernels_, elementwise.program, segment, first * row, last * row, addresses);
  }
}

/// On several threads, each thread takes some rows through all steps: threads do not wait for each other between steps.
void Cpu::compute(const instruction::Scan& scan, Addresses addresses) {
  const int threads = std::min(thread_pool().count(), scan.arenas);
  const std::int64_t chunks = scan.rows / rows_of_loop;
  if (threads == 1 || chunks < 2) return run_steps(scan, addresses);
  cpu::for_each_item(chunks, threads, [&](std::int64_t chunk, int thread) {
    const std::int64_t first = scan.rows * chunk / chunks, last = scan.rows * (chunk + 1) / chunks;
    each_step(scan, thread, addresses, [&](Addresses entries) {
      for (const Instruction& instruction : scan.body->instructions) run_rows(instruction, scan, first, last, entries);
    });
  });
}

void Cpu::compute(const ArgMax& instruction, Addresses addresses) {
  with_float(instruction.in.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, instruction.in);
    auto* out = at<std::int32_t>(addresses, instruction.out);
    split(instruction.rows, row_grain(instruction.count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* first = in + row * instruction.count;
        out[row] = static_cast<std::int32_t>(std::max_element(first, first + instruction.count) - first);
      }
    });
  });
}

void Cpu::compute(const OneHot& instruction, Addresses addresses) {
  const auto* labels = at<const std::int32_t>(addresses, instruction.labels);
  std::byte one[8];
  visit_dtype(instruction.out.dtype, [&]<class T>(T) {
    const auto number = T(1);
    std::memcpy(one, &number, sizeof number);
  });
  const std::size_t size = size_of(instruction.out.dtype), row = static_cast<std::size_t>(instruction.depth) * size;
  auto* out = at<std::byte>(addresses, instruction.out);
  std::memset(out, 0, static_cast<std::size_t>(instruction.rows) * row);
  for (std::int64_t i = 0; i < instruction.rows; ++i, out += row)
    if (labels[i] >= 0 && labels[i] < instruction.depth)
      std::memcpy(out + static_cast<std::size_t>(labels[i]) * size, one, size);
}

void Cpu::compute(const instruction::Softmax& instruction, Addresses addresses) {
  with_float(instruction.in.dtype, [&]<class T>(T) {
    split(instruction.rows, row_grain(instruction.count), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t offset = begin * instruction.count;
      cpu::float_kernels<T>(kernels_).softmax(at<const T>(addresses, instruction.in) + offset, end - begin,
                                              instruction.count, at<T>(addresses, instruction.out) + offset);
    });
  });
}

void Cpu::compute(const Crossentropy& instruction, Addresses addresses) {
  with_float(instruction.logits.dtype, [&]<class T>(T) {
    const auto& kernels = cpu::float_kernels<T>(kernels_);
    split(instruction.rows, row_grain(instruction.count), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t offset = begin * instruction.count;
      const T* logits = at<const T>(addresses, instruction.logits) + offset;
      T* losses = at<T>(addresses, instruction.losses) + begin;
      if (instruction.sparse)
        kernels.sparse_crossentropy(logits, at<const std::int32_t>(addresses, instruction.targets) + begin, end - begin,
                                    instruction.count, losses);
      else
        kernels.crossentropy(logits, at<const T>(addresses, instruction.targets) + offset, end - begin,
                             instruction.count, losses);
    });
  });
}

void Cpu::compute(const instruction::Uniform& instruction, Addresses addresses) {
  const auto counter = static_cast<std::uint32_t>(*at<const std::int32_t>(addresses, instruction.counter));
  with_float(instruction.out.dtype, [&]<class T>(T) {
    T* out = at<T>(addresses, instruction.out);
    split(instruction.count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t index = instruction.first + i, block = index / 4;
        const auto bits = philox(instruction.seed, {static_cast<std::uint32_t>(block), counter, instruction.stream,
                                                    static_cast<std::uint32_t>(RandomStream::step)});
        for (auto drawn = static_cast<std::size_t>(index % 4); drawn < bits.size() && i < end; ++drawn)
          out[i++] = static_cast<T>(uniform_from_bits(bits[drawn]));
      }
    });
  });
}

void Cpu::compute(const Copy& instruction, Addresses addresses) {
  if (instruction.bytes == 0) return;  // nothing has no address
  std::memcpy(at<std::byte>(addresses, instruction.out), at<const std::byte>(addresses, instruction.in),
              static_cast<std::size_t>(instruction.bytes));
}

void Cpu::compute(const instruction::Attention&, Addresses) { refuse_attention(); }
void Cpu::compute(const instruction::AttentionGradient&, Addresses) { refuse_attention(); }
void Cpu::compute(const instruction::AllReduce&, Addresses) { refuse_replicas(); }
void Cpu::compute(const instruction::AwaitSums&, Addresses) { refuse_replicas(); }

void Cpu::run(const Instruction& instruction, Addresses addresses) {
  std::visit([&](const auto& one) { compute(one, addresses); }, instruction);
}

std::size_t Cpu::wanted_workspace(const ArgMax&) const { return 0; }
std::size_t Cpu::wanted_workspace(const instruction::ScatterAdd&) const { return 0; }
std::size_t Cpu::wanted_workspace(const instruction::Softmax&) const { return 0; }
std::size_t Cpu::wanted_workspace(const Crossentropy&) const { return 0; }
std::size_t Cpu::wanted_workspace(const instruction::AttentionGradient&) const { return 0; }

std::size_t Cpu::workspace(const Instruction& instruction) const {
  return std::visit(
      [&](const auto& one) -> std::size_t {
        if constexpr (requires { one.workspace; })
          return wanted_workspace(one);
        else
          return 0;
      },
      instruction);
}

}  // namespace etude
