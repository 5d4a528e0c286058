#include <algorithm>
#include <array>
#include <utility>

#include "cuda/cuda.hpp"
#include "cuda/launch.hpp"
#include "cuda/product.hpp"
#include "cuda/programs.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude {

using cuda::at;
using cuda::BatchAxes;
using cuda::MatrixOperand;
using cuda::MatrixProduct;
using cuda::ProductShape;
using instruction::Access;
using instruction::Elementwise;
using instruction::Gemm;

namespace {

ProductShape shape_of(const Gemm& g) { return {g.m, g.n, g.k, g.batch.size()}; }

BatchAxes axes_of(const Shape& extents, const Shape& strides) {
  static_assert(BatchAxes::most == Shape::max_rank);
  BatchAxes axes;
  axes.count = static_cast<int>(extents.rank());
  std::copy(extents.begin(), extents.end(), axes.extents);
  std::copy(strides.begin(), strides.end(), axes.strides);
  return axes;
}

template <class T> MatrixOperand<T> operand_of(const Gemm::Matrix& matrix, const Shape& batch, Addresses addresses) {
  return {at<const T>(addresses, matrix.operand), matrix.transposed ? 1 : matrix.distance,
          matrix.transposed ? matrix.distance : 1, axes_of(batch, matrix.strides)};
}

/// The axes of a product's batch, merged where neighbours are contiguous in all three matrices. Strides are a's, b's
/// and c's. The longest axis comes first.
struct BatchAxis {
  std::int64_t extent;
  std::array<std::int64_t, 3> strides;
};
struct ProductBatch {
  BatchAxis axes[Shape::max_rank];
  int count = 0;

  explicit ProductBatch(const Gemm& g) {
    for (auto axis = static_cast<std::ptrdiff_t>(g.batch.rank()) - 1; axis >= 0; --axis) {
      const BatchAxis next{g.batch[axis], {g.a.strides[axis], g.b.strides[axis], g.c.strides[axis]}};
      if (next.extent == 1) continue;
      BatchAxis* inner = count > 0 ? &axes[count - 1] : nullptr;
      bool behind = inner != nullptr;
      for (std::size_t i = 0; behind && i < 3; ++i) behind = next.strides[i] == inner->strides[i] * inner->extent;
      if (behind)
        inner->extent *= next.extent;
      else
        axes[count++] = next;
    }
    if (count == 0) axes[count++] = {1, {}};
    for (int i = 1; i < count; ++i)
      if (axes[i].extent > axes[0].extent) std::swap(axes[0], axes[i]);
  }
  /// The number of batches of one axis.
  std::int64_t rows() const {
    std::int64_t product = 1;
    for (int i = 1; i < count; ++i) product *= axes[i].extent;
    return product;
  }
  /// The first element of such a batch in each matrix.
  std::array<std::int64_t, 3> offsets(std::int64_t row) const {
    std::array<std::int64_t, 3> result{};
    for (int i = 1; i < count; ++i) {
      for (std::size_t matrix = 0; matrix < 3; ++matrix)
        result[matrix] += row % axes[i].extent * axes[i].strides[matrix];
      row /= axes[i].extent;
    }
    return result;
  }
};

/// A vendor's library supports batches of one axis; this is the most of them that are enqueued one by one.
constexpr std::int64_t most_rows = 16;

/// Whether a program only adds its two inputs, and rounds the sum to its stored dtype.
bool only_adds(const instruction::Program& program) {
  using namespace instruction;
  if (program.row > 0 || program.inputs.size() != 2 || !program.immediates.empty() || program.outputs.size() != 1)
    return false;
  const std::span<const Program::Step> steps = program.steps;
  const auto rounds = [](const Program::Step& step) { return step.code == float16_code || step.code == bfloat16_code; };
  return !steps.empty() && steps[0].code == opcode_of<op::Add>() && steps[0].a != steps[0].b &&
         std::ranges::all_of(steps.subspan(1), rounds) && program.outputs[0].reg == steps.back().result;
}

/// The bias that the epilogue adds to each row of c, if it does nothing else; otherwise null. cuBLASLt adds it while
/// the product is in registers. Its other epilogues are not used: RELU turns NaN into 0, where Keras keeps NaN, and
/// BGRAD adds the rows in another order than the processor. For these, the epilogue's own program runs after the
/// product.
const Operand* added_to_rows(const Gemm& g) {
  if (!g.epilogue || g.batch.size() != 1 || !only_adds(g.epilogue->program)) return nullptr;
  const instruction::Segment& segment = g.epilogue->segments.front();
  const auto is_c = [&](const Access& access) {
    return access.kind == Access::Kind::contiguous && access.operand == g.c.operand;
  };
  const auto is_bias = [&](const Access& access) {
    return access.kind == Access::Kind::strided && access.operand.dtype == g.c.operand.dtype &&
           access.extents == Shape{g.m, g.n} && access.strides == Shape{0, 1};
  };
  if (!is_c(segment.outputs[0])) return nullptr;
  for (const auto& [own, other] : {std::pair{0, 1}, std::pair{1, 0}})
    if (const auto* inputs = segment.inputs.data(); is_c(inputs[own]) && is_bias(inputs[other]))
      return &inputs[other].operand;
  return nullptr;
}

/// Enqueues a product of the GPU's vendor, with or without a bias. False if the vendor does not support it; c is not
/// written then.
bool multiply_by_vendor(cuda::Runtime& runtime, const Gemm& g, const Operand* bias, Addresses addresses) {
  if (runtime.product_workspace() == 0 || g.m * g.n * g.k * g.batch.size() == 0) return false;
  const ProductBatch batch(g);
  if (batch.rows() > most_rows) return false;
  const auto element = static_cast<std::int64_t>(size_of(g.c.operand.dtype));
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    const auto offsets = batch.offsets(row);
    const auto matrix = [&](const Gemm::Matrix& of, std::size_t which) {
      return MatrixProduct::Matrix{at<std::byte>(addresses, of.operand) + offsets[which] * element, of.distance,
                                   of.transposed, batch.axes[0].strides[which]};
    };
    if (!runtime.multiply({g.c.operand.dtype, g.m, g.n, g.k, batch.axes[0].extent, matrix(g.a, 0), matrix(g.b, 1),
                           matrix(g.c, 2), at<std::byte>(addresses, g.workspace),
                           bias ? at<const std::byte>(addresses, *bias) : nullptr}))
      return false;
  }
  return true;
}

void multiply_here(cuda::Runtime& runtime, const Gemm& g, Addresses addresses) {
  cuda::with_stored(g.c.operand.dtype, [&]<class T>(T) {
    cuda::multiply(runtime, shape_of(g), operand_of<T>(g.a, g.batch, addresses), operand_of<T>(g.b, g.batch, addresses),
                   at<T>(addresses, g.c.operand), g.c.distance, axes_of(g.batch, g.c.strides),
                   at<cuda::Computed<T>>(addresses, g.workspace));
  });
}

/// The access of c's elements to a matrix of the product: the start of the element's row, or column.
Access access_to(const Gemm& g, const Gemm::Matrix& matrix, std::int64_t by_row, std::int64_t by_column) {
  Access access{matrix.operand, Access::Kind::strided, g.batch, matrix.strides};
  access.extents.append(g.m);
  access.extents.append(g.n);
  access.strides.append(by_row);
  access.strides.append(by_column);
  return access;
}

/// Whether four numbers of a, and of b, are neighbours along k, for every element of c. They can be read at once if
/// both matrices are also aligned.
bool lies_in_fours(const Gemm& g) {
  const auto multiple = [](std::int64_t stride) { return stride % 4 == 0; };
  const auto in_fours = [&](const Gemm::Matrix& matrix) {
    return matrix.distance % 4 == 0 && std::ranges::all_of(matrix.strides, multiple);
  };
  return g.c.operand.dtype == DType::float32 && g.k % 4 == 0 && !g.a.transposed && g.b.transposed && in_fours(g.a) &&
         in_fours(g.b);
}

/// A program that copies its input.
Elementwise identity(const Access& from, const Access& to, std::int64_t size) {
  const instruction::Lane lane = instruction::lane_of(from.operand.dtype);
  Elementwise program{};
  program.program.inputs = {{lane}};
  program.program.outputs = {{0}};
  program.program.registers = 1;
  program.segments = {{size, {from}, {to}}};
  return program;
}

}  // namespace

bool Cuda::by_program(const Gemm& g) const {
  constexpr std::int64_t deepest = 128;  // loads of a thread take a while, and sixteen overlap
  const std::int64_t multiplications = g.m * g.n * g.k * g.batch.size();
  if (multiplications == 0 || g.k > deepest) return false;
  // Threads of a warp compute neighbours in a row of c. The number of rows of a, and columns of b, that they read:
  const std::int64_t from_a = g.a.transposed ? 1 : cuda::blocks_for(cuda::warp, g.n),
                     from_b = g.b.transposed ? std::min<std::int64_t>(g.n, cuda::warp) : 1;
  const std::int64_t work = multiplications * std::max(from_a, from_b) / (lies_in_fours(g) ? 4 : 1);
  return work <= options_.most_work_of_programs * ProductBatch(g).rows();
}

std::shared_ptr<cuda::ProductLaunch> Cuda::launch_of(const Gemm& g, std::vector<cuda::WantedProgram>& wanted) const {
  auto launch = std::make_shared<cuda::ProductLaunch>();
  const Access c = access_to(g, g.c, g.c.distance, 1);
  launch->then = g.epilogue ? *g.epilogue : identity({g.c.operand}, c, g.m * g.n * g.batch.size());
  const instruction::Segment& segment = launch->then.segments.front();
  const auto is_c = [&](const Access& access) { return access.operand == g.c.operand; };
  const auto input = std::ranges::find_if(segment.inputs, is_c);
  launch->product = {.input = static_cast<std::size_t>(input - segment.inputs.begin()),
                     .depth = g.k,
                     .a = access_to(g, g.a, g.a.transposed ? 1 : g.a.distance, 0),
                     .b = access_to(g, g.b, 0, g.b.transposed ? g.b.distance : 1),
                     .along_a = g.a.transposed ? g.a.distance : 1,
                     .along_b = g.b.transposed ? 1 : g.b.distance,
                     .is_kept = std::ranges::none_of(segment.outputs, is_c),
                     .by_fours = lies_in_fours(g)};
  wanted.push_back({cuda::program_source(launch->then.program, segment, 1, &launch->product), &launch->program});
  return launch;
}

void Cuda::run_by_program(const Gemm& g, Addresses addresses) {
  auto prepared = std::static_pointer_cast<const cuda::ProductLaunch>(g.prepared);
  if (!prepared) {  // the instruction belongs to no plan
    std::vector<cuda::WantedProgram> wanted;
    prepared = launch_of(g, wanted);
    set_programs(wanted);
  }
  const auto& [then, product, program] = *prepared;
  cuda::ProgramArguments arguments;
  arguments.add(then.program, then.segments.front(), addresses, &product);
  if (arguments.blocks() > 0)
    runtime_->launch(*program, arguments.blocks(), cuda::program_threads, arguments.data(), arguments.bytes());
}

std::size_t Cuda::wanted_workspace(const Gemm& g) const {
  if (by_program(g)) return 0;
  return std::max(shape_of(g).part_bytes(g.c.operand.dtype), runtime_->product_workspace());
}

void Cuda::compute(const Gemm& g, Addresses addresses) {
  if (by_program(g)) return run_by_program(g, addresses);
  const Operand* bias = added_to_rows(g);
  if (bias && multiply_by_vendor(*runtime_, g, bias, addresses)) return;
  if (!multiply_by_vendor(*runtime_, g, nullptr, addresses)) multiply_here(*runtime_, g, addresses);
  if (g.epilogue) run(*g.epilogue, addresses);
}

}  // namespace etude
