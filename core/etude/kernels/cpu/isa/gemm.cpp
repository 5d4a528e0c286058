#include "etude/kernels/cpu/gemm.hpp"

#include "etude/kernels/cpu/isa/fan_out.hpp"
#include "etude/kernels/cpu/isa/gemm_block.hpp"
#include "etude/kernels/cpu/isa/gemm_problem.hpp"
#include "etude/kernels/cpu/isa/gemm_vector.hpp"

// The matrix product after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): a panel
// of B stays in the first-level cache, a block of A in the second, and the tile of C in registers. This file adds thin
// products, which are read in place or computed as Cᵀ = Bᵀ · Aᵀ, products with one row or column, and the division
// among workers.

namespace etude::cpu::ETUDE_ISA {
namespace {

/// The multiplications from which a second thread pays, and the least for each thread.
constexpr Index parallel_least = 64 * 64 * 64;
constexpr Index share_least = parallel_least / 4;
/// The multiplications from which one product of a batch is divided among all threads.
constexpr Index shared_least = 16 * parallel_least;

/// One product that is computed chunk by chunk of B.
template <class T>
struct Job {
  const Problem<T>& problem;
  const Blocking<T>& blocking;
  int parts;
  T* packed_b;
  T* packed_a;  // block_a_elements for each part
  // The current chunk: k [first, first + depth) and columns [left, left + columns).
  Index first, depth, left, columns;
  Turns panel_turns{0, 1}, tile_turns{0, 1};

  /// Packs the chunk, some panels at a time.
  static void pack(void* context, int) {
    Job& job = *static_cast<Job*>(context);
    const Index width = quotient_up(job.columns, tile_width<T>) * tile_width<T>;
    for (Index panel, to; job.panel_turns.next(panel, to);) {
      const Index begin = panel * tile_width<T>, end = smaller(to * tile_width<T>, job.columns);
      for (Index p = 0; p < job.depth; p += job.blocking.depth) {
        const Index depth = smaller(job.depth - p, job.blocking.depth);
        pack_b(job.problem.b.from(job.first + p, job.left + begin), depth, end - begin,
               job.packed_b + p * width + begin * depth);
      }
    }
  }

  /// Multiplies A by the chunk, some rows at a time.
  static void multiply(void* context, int part) {
    Job& job = *static_cast<Job*>(context);
    const Problem<T>& problem = job.problem;
    const bool last = job.first + job.depth == problem.k && job.left + job.columns == problem.n;
    for (Index tile, to; job.tile_turns.next(tile, to);) {
      const Index end = smaller(to * tile_rows, problem.m);
      for (Index i = tile * tile_rows; i < end; i += rows_most) {
        const Index rows = smaller(end - i, rows_most);
        job.multiply_rows(i, rows, job.packed_a + part * block_a_elements<T>(problem.m, problem.k));
        if (last && !problem.turned) problem.finished(i, i + rows);
      }
    }
  }

  void multiply_rows(Index i, Index rows, T* block) const {
    using Use = typename BlockB<T>::Use;
    const Index panels = quotient_up(columns, tile_width<T>);
    const Use first_use = blocking.one_block ? Use::passing : Use::packing;
    const Use use = blocking.direct_b ? Use::direct : blocking.packs_on_the_way && i == 0 ? first_use : Use::packed;
    T* c = problem.c + i * problem.c_row + left * problem.c_column;
    for (Index p = 0; p < depth; p += blocking.depth) {
      const Index here = smaller(depth - p, blocking.depth);
      const bool add = problem.add || first + p > 0;
      const Operand<T> a = problem.a.from(i, first + p);
      const BlockB<T> b{problem.b.from(first + p, left), packed_b + p * panels * tile_width<T>, use};
      if (blocking.direct_a) {
        multiply_block<T, Reads::direct>(rows, columns, here, a, b, c, problem.c_row, problem.c_column, add);
      } else {
        pack_a(a, rows, here, block);
        multiply_block<T, Reads::packed>(rows, columns, here, {block, 0, 0}, b, c, problem.c_row, problem.c_column,
                                         add);
      }
    }
  }
};

/// Computes the product in chunks of B: all parts pack a chunk together, then each multiplies its rows of A by it.
template <class T>
void multiply_by_rows(const Problem<T>& problem, const Blocking<T>& blocking, int parts, const Workers& workers,
                      T* packed_a, T* packed_b) {
  Job<T> job{problem, blocking, parts, packed_b, packed_a, 0, 0, 0, 0};
  for (job.first = 0; job.first < problem.k; job.first += job.depth) {
    job.depth = smaller(problem.k - job.first, blocking.chunk_depth);
    for (job.left = 0; job.left < problem.n; job.left += job.columns) {
      job.columns = smaller(problem.n - job.left, blocking.chunk_columns);
      job.panel_turns = Turns(quotient_up(job.columns, tile_width<T>), parts, 2);
      job.tile_turns = Turns(quotient_up(problem.m, tile_rows), parts, 2);
      if (!blocking.direct_b && !blocking.packs_on_the_way) fan_out(workers, parts, Job<T>::pack, &job);
      fan_out(workers, parts, Job<T>::multiply, &job);
      if (problem.turned && job.first + job.depth == problem.k) problem.finished(job.left, job.left + job.columns);
    }
  }
}

/// One row times a matrix, this thread's columns. `result` and `row` are buffers for rows of n and of k that are not
/// contiguous.
template <class T>
void multiply_row(const Problem<T>& problem, T* result, T* row) {
  const bool aside = problem.c_column != 1;
  T* y = problem.c;
  if (aside) {
    y = result;
    if (problem.add)
      for (Index j = 0; j < problem.n; ++j) y[j] = problem.c[j * problem.c_column];
  }
  if (problem.b.row == 1) {
    const T* x = problem.a.data;
    if (problem.a.column != 1) {
      for (Index p = 0; p < problem.k; ++p) row[p] = x[p * problem.a.column];
      x = row;
    }
    row_times_columns(x, problem.b, problem.k, problem.n, y, problem.add);
  } else {
    row_times_rows(problem.a.data, problem.a.column, problem.b, problem.k, problem.n, y, problem.add);
  }
  if (aside)
    for (Index j = 0; j < problem.n; ++j) problem.c[j * problem.c_column] = y[j];
  if (problem.turned) problem.finished(0, problem.n);
}

/// Divides the columns of a product that is wider than tall into slices. Each slice is a separate product, so that no
/// part reads what another packed.
template <class T>
struct Slices {
  const Problem<T>& problem;
  int parts;
  T* workspace;
  Turns columns{quotient_up(problem.n, column_unit<T>), parts, 2}, rows{problem.m, parts};

  static void multiply(void* context, int part) {
    Slices& slices = *static_cast<Slices*>(context);
    for (Index begin, end; slices.columns.next(begin, end);)
      slices.multiply_slice(begin * column_unit<T>, smaller(end * column_unit<T>, slices.problem.n), part);
  }

  void multiply_slice(Index begin, Index end, int part) const {
    Problem<T> slice = problem.columns(begin, end);
    if (!problem.turned) slice.rows_done = nullptr;
    if (problem.m == 1) return multiply_row(slice, workspace + begin, workspace + problem.n + part * problem.k);
    const Index a_elements = block_a_elements<T>(problem.m, problem.k),
                b_elements = chunk_b_elements<T>(problem.n, problem.k, parts);
    T* own = workspace + part * (a_elements + b_elements);
    multiply_by_rows(slice, Blocking<T>(slice, 1, b_elements), 1, {}, own, own + a_elements);
  }

  static void finish(void* context, int) {
    Slices& slices = *static_cast<Slices*>(context);
    for (Index begin, end; slices.rows.next(begin, end);) slices.problem.finished(begin, end);
  }
};

template <class T>
void multiply_by_columns(const Problem<T>& problem, int parts, const Workers& workers, T* workspace) {
  Slices<T> slices{problem, parts, workspace};
  fan_out(workers, parts, Slices<T>::multiply, &slices);
  if (problem.turned || problem.rows_done == nullptr) return;
  if (problem.m * problem.n < share_least)
    problem.finished(0, problem.m);
  else
    fan_out(workers, parts, Slices<T>::finish, &slices);
}

/// One column, or so few columns that more lanes would idle across them than across the rows: Cᵀ = Bᵀ · Aᵀ.
template <class T>
bool better_turned(const Problem<T>& problem) {
  if (problem.n == 1) return true;
  if (problem.m == 1 || problem.n > thin_columns<T>) return false;
  return problem.n * round_up(problem.m, lanes<T>) < problem.m * round_up(problem.n, lanes<T>);
}

/// A product without terms: C becomes zero, unless it is accumulated into.
template <class T>
void multiply_nothing(const Problem<T>& problem) {
  for (Index i = 0; i < problem.m && !problem.add; ++i)
    for (Index j = 0; j < problem.n; ++j) problem.c[i * problem.c_row + j] = T(0);
  problem.finished(0, problem.m);
}

/// Computes one product on all workers.
template <class T>
void multiply_one(const Problem<T>& problem, const Workers& workers, T* workspace) {
  const std::int64_t work = std::int64_t{problem.m} * problem.n * problem.k;
  int parts = 1;
  if (workers.count > 1 && work >= parallel_least)
    parts = static_cast<int>(smaller(workers.count, static_cast<Index>(work / share_least)));
  if (problem.m == 1 && parts == 1) {
    multiply_row(problem, workspace, workspace + problem.n);
    if (!problem.turned) problem.finished(0, 1);
    return;
  }
  if (parts > 1 && (problem.m < problem.n || problem.turned))
    return multiply_by_columns(problem, parts, workers, workspace);
  T* packed_b = workspace + parts * block_a_elements<T>(problem.m, problem.k);
  const Blocking<T> blocking(problem, parts, chunk_b_elements<T>(problem.n, problem.k, 1));
  multiply_by_rows(problem, blocking, parts, workers, workspace, packed_b);
}

/// The elements of a thread's buffer while it computes whole products of a batch.
template <class T>
Index own_elements(Index m, Index n, Index k) {
  return round_up(larger(m, n) + k + block_a_elements<T>(m, k) + chunk_b_elements<T>(n, k, 1), 16);
}

/// The products of a batch, divided into parts.
template <class T>
struct Products {
  const Problem<T>& problem;  // the first one
  const GemmBatch& batch;
  Index count;
  int parts;
  T* workspace;
  Turns turns{0, 1};

  /// Product `index` of the batch.
  Problem<T> at(Index index) const {
    Problem<T> one = problem;
    one.origin = index * rows();
    const std::int64_t *a = problem.turned ? batch.b : batch.a, *b = problem.turned ? batch.a : batch.b;
    for (int axis = batch.axes - 1; axis >= 0; --axis) {
      const auto extent = static_cast<Index>(batch.extents[axis]), i = axis > 0 ? index % extent : index;
      one.a.data += i * static_cast<Index>(a[axis]);
      one.b.data += i * static_cast<Index>(b[axis]);
      one.c += i * static_cast<Index>(batch.c[axis]);
      if (axis > 0) index /= extent;
    }
    return one;
  }

  Index rows() const { return problem.turned ? problem.n : problem.m; }

  /// Computes products one after another. It reports their rows in blocks of some thousand elements, because each call
  /// of an epilogue has a cost.
  static void multiply(void* context, int part) {
    Products& products = *static_cast<Products*>(context);
    for (Index begin, end; products.turns.next(begin, end);) products.multiply_some(begin, end, part);
  }

  void multiply_some(Index begin, Index end, int part) const {
    const Index m = problem.m, n = problem.n, k = problem.k;
    T* own = workspace + part * own_elements<T>(m, n, k);
    const Blocking<T> blocking(problem, 1, chunk_b_elements<T>(n, k, 1));
    const Index at_once = larger(4096 / (m * n), 1);
    for (Index first = begin; first < end; first += at_once) {
      const Index last = smaller(first + at_once, end);
      for (Index index = first; index < last; ++index) {
        Problem<T> one = at(index);
        one.rows_done = nullptr;
        if (m == 1)
          multiply_row(one, own, own + n);
        else
          multiply_by_rows(one, blocking, 1, {}, own, own + block_a_elements<T>(m, k));
      }
      Problem<T> all = problem;
      all.origin = 0;
      all.finished(first * rows(), last * rows());
    }
  }
};

/// Each small product is computed by one worker; large ones are computed one after another by all workers.
template <class T>
void multiply_batch(const Problem<T>& problem, const GemmBatch& batch, const Workers& workers, T* workspace) {
  Products<T> products{problem, batch, static_cast<Index>(batch.count()), 1, workspace};
  const std::int64_t work = std::int64_t{problem.m} * problem.n * problem.k;
  if (work >= shared_least) {
    for (Index i = 0; i < products.count; ++i) multiply_one(products.at(i), workers, workspace);
    return;
  }
  if (workers.count > 1 && work * products.count >= parallel_least)
    products.parts = static_cast<int>(
        smaller(smaller(workers.count, products.count), static_cast<Index>(work * products.count / share_least)));
  products.turns = Turns(products.count, products.parts);
  fan_out(workers, products.parts, Products<T>::multiply, &products);
}

template <class T>
void multiply(const GemmArguments<T>& g, const Workers& workers) {
  const auto index = [](std::int64_t value) { return static_cast<Index>(value); };
  Problem<T> problem{};
  problem.m = index(g.m);
  problem.n = index(g.n);
  problem.k = index(g.k);
  problem.a = g.transpose_a ? Operand<T>{g.a, 1, index(g.lda)} : Operand<T>{g.a, index(g.lda), 1};
  problem.b = g.transpose_b ? Operand<T>{g.b, 1, index(g.ldb)} : Operand<T>{g.b, index(g.ldb), 1};
  problem.c = g.c;
  problem.c_row = index(g.ldc);
  problem.c_column = 1;
  problem.add = g.accumulate;
  problem.rows_done = g.rows_done;
  problem.context = g.context;
  const std::int64_t count = g.batch.count();
  if (problem.m == 0 || problem.n == 0 || count == 0) return;
  if (problem.k == 0) {
    const Products<T> products{problem, g.batch, index(count), 1, nullptr};
    for (Index i = 0; i < products.count; ++i) multiply_nothing(products.at(i));
    return;
  }
  if (better_turned(problem)) problem = problem.transposed();
  if (count == 1)
    multiply_one(problem, workers, g.workspace);
  else
    multiply_batch(problem, g.batch, workers, g.workspace);
}

}  // namespace

void gemm(const GemmArguments<float>& arguments, const Workers& workers) { multiply(arguments, workers); }
void gemm(const GemmArguments<double>& arguments, const Workers& workers) { multiply(arguments, workers); }

/// Enough for any division into up to `workers` slices, none larger than an equal part plus one unit of columns.
template <class T>
Index workspace_elements(Index m, Index n, Index k, Index workers) {
  const Index columns = round_up(n, column_unit<T>) + workers * column_unit<T>;
  const Index panels = workers * tile_width<T> * smaller(k, depth_most<T>);
  return workers * (block_a_elements<T>(m, k) + 16) + smaller(columns * k, larger(packed_most, panels));
}

template <class T>
std::int64_t gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int workers) {
  const Index rows = static_cast<Index>(m), columns = static_cast<Index>(n), depth = static_cast<Index>(k);
  if (count > 1 && m * n * k < shared_least)
    return workers * larger(own_elements<T>(rows, columns, depth), own_elements<T>(columns, rows, depth));
  if (rows == 1 || columns == 1) return rows * columns + workers * depth;
  const Index straight = workspace_elements<T>(rows, columns, depth, workers);
  return columns > thin_columns<T> ? straight : larger(straight, workspace_elements<T>(columns, rows, depth, workers));
}

template std::int64_t gemm_workspace<float>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, int);

}  // namespace etude::cpu::ETUDE_ISA
