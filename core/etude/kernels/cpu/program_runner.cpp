#include "etude/kernels/cpu/program_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "etude/base/detail/converted.hpp"
#include "etude/base/tensor.hpp"

namespace etude::cpu {

using instruction::Access;
using instruction::Lane;
using instruction::Program;
using instruction::Segment;

namespace {

/// The distance between registers: one and a half times the size of the widest. With a power of two, elements at the
/// same place in different registers would all map to the same few sets of a cache.
constexpr std::size_t register_distance = static_cast<std::size_t>(tile) * sizeof(double) * 3 / 2;

/// A thread's tiles, and the current address of each register's elements: in its tile, or in memory.
struct Registers {
  Tensor tiles{Shape{0}, DType::uint8};
  std::vector<std::byte*> own;
  std::vector<std::byte*> at;
  std::vector<char> kept;  // an input with the same elements for every tile

  void prepare(std::size_t count) {
    if (count <= own.size()) return;
    tiles = Tensor({static_cast<std::int64_t>(count * register_distance)}, DType::uint8);
    own.resize(count);
    at.resize(count);
    kept.resize(count);
    for (std::size_t i = 0; i < count; ++i) own[i] = tiles.raw() + i * register_distance;
  }
};

std::size_t lane_bytes(Lane lane) { return lane == Lane::float64 ? 8 : 4; }

/// Whether memory of `dtype` has the layout of `lane`, so that kernels can process it in place.
bool same_layout(DType dtype, Lane lane) {
  return instruction::lane_of(dtype) == lane && size_of(dtype) == lane_bytes(lane);
}

template <class Visitor> void visit_lane(Lane lane, Visitor&& visit) {
  if (lane == Lane::float32)
    visit(float{});
  else if (lane == Lane::float64)
    visit(double{});
  else
    visit(std::int32_t{});
}

/// Calls visit with a value of the type as which memory of `dtype` is read into lanes.
template <class Visitor> void visit_memory(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::float32: return visit(float{});
    case DType::float64: return visit(double{});
    case DType::int32: return visit(std::int32_t{});
    case DType::uint8:
    case DType::boolean: return visit(std::uint8_t{});
    case DType::float16: return visit(Float16{});
    case DType::bfloat16: return visit(BFloat16{});
  }
}

/// Calls visit with a value of the lane's type and one of the type as which memory of `dtype` is read: half precision
/// is read into float lanes only.
template <class Visitor> void visit_both(Lane lane, DType dtype, Visitor&& visit) {
  visit_memory(dtype, [&]<class M>(M memory) {
    if constexpr (std::is_same_v<M, Float16> || std::is_same_v<M, BFloat16>)
      visit(float{}, memory);
    else
      visit_lane(lane, [&]<class T>(T element) { visit(element, memory); });
  });
}

void fill(std::byte* reg, Lane lane, double value, std::int64_t n) {
  visit_lane(lane, [&]<class T>(T) { std::fill_n(reinterpret_cast<T*>(reg), n, converted<T>(value)); });
}

void fill_from(std::byte* reg, Lane lane, const std::byte* memory, DType dtype, std::int64_t n) {
  visit_both(lane, dtype, [&]<class T, class M>(T, M) {
    std::fill_n(reinterpret_cast<T*>(reg), n, converted<T>(*reinterpret_cast<const M*>(memory)));
  });
}

template <class T, class M> void convert(T* out, const M* in, std::int64_t n) {
  if constexpr (std::is_same_v<T, M>)
    std::copy_n(in, n, out);
  else
    for (std::int64_t i = 0; i < n; ++i) out[i] = converted<T>(in[i]);
}

/// Calls visit(offset, step, count) for each run of elements [begin, begin + n) that lie a fixed step apart.
template <class Visitor> void for_each_run(const Access& access, std::int64_t begin, std::int64_t n, Visitor visit) {
  const std::int64_t *extents = access.extents.begin(), *strides = access.strides.begin();
  const auto last = static_cast<int>(access.extents.rank()) - 1;
  const std::int64_t inner = extents[last], step = strides[last];
  std::int64_t index[Shape::max_rank], rest = begin / inner, column = begin % inner, offset = 0;
  for (int axis = last - 1; axis >= 0; --axis) {
    index[axis] = rest % extents[axis];
    rest /= extents[axis];
    offset += index[axis] * strides[axis];
  }
  while (n > 0) {
    const std::int64_t count = std::min(inner - column, n);
    visit(offset + column * step, step, count);
    n -= count;
    column = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < extents[axis]) break;
      offset -= extents[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

/// Gathers elements [begin, begin + n) of a strided operand into a register.
template <class T, class M> void gather(T* out, const M* in, const Access& access, std::int64_t begin, std::int64_t n) {
  for_each_run(access, begin, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
    const M* from = in + offset;
    if (step == 0)
      std::fill_n(out, count, static_cast<T>(*from));
    else if (step == 1)
      convert(out, from, count);
    else
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(from[i * step]);
    out += count;
  });
}

/// The reverse: scatters a register's elements to their strided places.
template <class T, class M> void scatter(M* out, const T* in, const Access& access, std::int64_t begin,
                                         std::int64_t n) {
  for_each_run(access, begin, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
    M* to = out + offset;
    if (step == 1)
      convert(to, in, count);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = converted<M>(in[i]);
    in += count;
  });
}

void load(std::byte* reg, Lane lane, const std::byte* memory, const Access& access, std::int64_t begin,
          std::int64_t n) {
  visit_both(lane, access.operand.dtype, [&]<class T, class M>(T, M) {
    const M* in = reinterpret_cast<const M*>(memory);
    if (access.kind == Access::Kind::strided)
      gather(reinterpret_cast<T*>(reg), in, access, begin, n);
    else
      convert(reinterpret_cast<T*>(reg), in + begin, n);
  });
}

/// Loads an operand that repeats after `period` elements: each copy doubles the part that is filled.
void load_repeated(std::byte* reg, Lane lane, const std::byte* memory, const Access& access, std::int64_t begin,
                   std::int64_t n, std::int64_t period) {
  load(reg, lane, memory, access, begin, std::min(period, n));
  const auto bytes = [lane](std::int64_t count) { return static_cast<std::size_t>(count) * lane_bytes(lane); };
  for (std::int64_t there = period; there < n; there *= 2)
    std::memcpy(reg + bytes(there), reg, bytes(std::min(there, n - there)));
}

/// Stores an output's elements from a lane: conditions and bytes are kept in float lanes.
void store(std::byte* memory, const Access& access, const std::byte* reg, std::int64_t begin, std::int64_t n) {
  const DType dtype = access.operand.dtype;
  visit_both(instruction::lane_of(dtype), dtype, [&]<class T, class M>(T, M) {
    const T* in = reinterpret_cast<const T*>(reg);
    M* out = reinterpret_cast<M*>(memory);
    if (access.kind == Access::Kind::strided)
      scatter(out, in, access, begin, n);
    else
      convert(out + begin, in, n);
  });
}

void convert_lanes(std::byte* out, Lane to, const std::byte* in, Lane from, std::int64_t n) {
  visit_lane(from, [&]<class F>(F) {
    visit_lane(to, [&]<class T>(T) { convert(reinterpret_cast<T*>(out), reinterpret_cast<const F*>(in), n); });
  });
}

/// Steps that read whole rows.
template <class T> void run_row_step(const FloatKernels<T>& kernels, instruction::Opcode code, std::byte* out,
                                     const std::byte* in, std::int64_t rows, std::int64_t row) {
  const auto kernel = code == instruction::sum_code   ? kernels.sum_rows
                      : code == instruction::max_code ? kernels.max_rows
                                                      : kernels.spread;
  kernel(reinterpret_cast<const T*>(in), rows, row, reinterpret_cast<T*>(out));
}

void run_row_step(const Kernels& kernels, const Program::Step& step, std::byte* out, const std::byte* in,
                  std::int64_t rows, std::int64_t row) {
#ifdef ETUDE_FLOAT64
  if (step.lane == Lane::float64) return run_row_step(kernels.float64, step.code, out, in, rows, row);
#endif
  run_row_step(kernels.float32, step.code, out, in, rows, row);
}

/// The elements after which an operand repeats, as a bias does; 0 if it does not.
std::int64_t period(const Access& access) {
  const bool again = access.kind == Access::Kind::strided && access.extents.rank() == 2 && access.strides[0] == 0;
  return again ? access.extents[1] : 0;
}

Registers& registers_of_this_thread() {
  thread_local Registers registers;
  return registers;
}

}  // namespace

std::int64_t tile_of(const Program& program, const Segment& segment) {
  static_assert(tile >= instruction::longest_row);
  std::int64_t unit = std::max<std::int64_t>(program.row, 1);
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (const std::int64_t again = program.inputs[i].per_row ? 0 : period(segment.inputs[i]); again > 0)
      if (const std::int64_t both = std::lcm(unit, again); both <= tile) unit = both;
  return tile / unit * unit;
}

void run_program(const Kernels& kernels, const Program& program, const Segment& segment, std::int64_t begin,
                 std::int64_t end, Addresses addresses) {
  const auto address = [&](const Operand& operand) {
    return addresses[static_cast<std::size_t>(operand.space)] + operand.offset;
  };
  Registers& registers = registers_of_this_thread();
  registers.prepare(program.registers);
  auto& own = registers.own;
  auto& at = registers.at;

  const std::int64_t elements = tile_of(program, segment), row = std::max<std::int64_t>(program.row, 1);
  const std::int64_t widest = std::min(elements, end - begin);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Access& access = segment.inputs[i];
    const Program::Input& input = program.inputs[i];
    const std::int64_t again = input.per_row ? 0 : period(access);
    registers.kept[i] = access.kind == Access::Kind::scalar || (again > 0 && elements % again == 0);
    at[i] = own[i];
    if (access.kind == Access::Kind::scalar)
      fill_from(own[i], input.lane, address(access.operand), access.operand.dtype, widest);
    else if (registers.kept[i])
      load_repeated(own[i], input.lane, address(access.operand), access, begin, widest, again);
  }
  for (std::size_t i = 0; i < program.immediates.size(); ++i) {
    const std::size_t reg = program.inputs.size() + i;
    at[reg] = own[reg];
    fill(own[reg], program.immediates[i].lane, program.immediates[i].value, widest);
  }

  for (std::int64_t first_element = begin; first_element < end; first_element += elements) {
    // The first element of a register that holds all elements or one per row, and how many it holds.
    const std::int64_t n_elements = std::min(elements, end - first_element);
    const std::int64_t first_row = first_element / row, rows = n_elements / row;
    const auto first_of = [&](bool per_row) { return per_row ? first_row : first_element; };
    const auto count_of = [&](bool per_row) { return per_row ? rows : n_elements; };
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const Access& access = segment.inputs[i];
      const auto [lane, per_row] = program.inputs[i];
      if (registers.kept[i]) continue;
      if (access.kind == Access::Kind::contiguous && same_layout(access.operand.dtype, lane)) {
        at[i] = address(access.operand) + static_cast<std::size_t>(first_of(per_row)) * lane_bytes(lane);
      } else {
        at[i] = own[i];
        load(own[i], lane, address(access.operand), access, first_of(per_row), count_of(per_row));
      }
    }
    for (const Program::Step& step : program.steps) {
      const std::int64_t n = count_of(step.per_row);
      std::byte* out = own[step.result];
      if (step.direct >= 0) {
        const auto size = static_cast<std::int64_t>(lane_bytes(step.to));
        out = address(segment.outputs[static_cast<std::size_t>(step.direct)].operand) + first_of(step.per_row) * size;
      }
      if (step.code >= instruction::sum_code)
        run_row_step(kernels, step, out, at[step.a], rows, row);
      else if (step.code == instruction::convert_code)
        convert_lanes(out, step.to, at[step.a], step.lane, n);
      else
        kernels.elementwise[static_cast<std::size_t>(step.lane)][step.code](out, at[step.a], at[step.b], at[step.c], n);
      at[step.result] = out;
    }
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const Access& access = segment.outputs[o];
      const auto [from, per_row] = program.outputs[o];
      std::byte* memory = address(access.operand);
      const bool there =
          access.kind != Access::Kind::strided &&
          at[from] == memory + static_cast<std::size_t>(first_of(per_row)) * size_of(access.operand.dtype);
      if (!there) store(memory, access, at[from], first_of(per_row), count_of(per_row));
    }
  }
}

}  // namespace etude::cpu
