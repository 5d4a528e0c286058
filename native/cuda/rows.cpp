#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/block.hpp"
#include "cuda/divisor.hpp"
#include "cuda/launch.hpp"

// What looks at whole rows: a warp for each of them; a block where they are long; and where there are few that are very
// long, several blocks, each of which has a part of a row.

namespace etude {

using cuda::at;
using cuda::blocks_for;
using cuda::Divisor;
using cuda::launch;
using cuda::launch_each;
using cuda::Thread;
using cuda::warp;
using instruction::ArgMax;
using instruction::Crossentropy;
using instruction::Softmax;

namespace {

// ---- rows of a warp ----

constexpr unsigned rows_of_block = 4;

ETUDE_DEVICE float exponential(float x) { return expf(x); }
ETUDE_DEVICE double exponential(double x) { return exp(x); }
ETUDE_DEVICE float logarithm(float x) { return logf(x); }
ETUDE_DEVICE double logarithm(double x) { return log(x); }

ETUDE_DEVICE std::int64_t row_of(const Thread& thread) {
  return thread.block() * rows_of_block + thread.index() / warp;
}
ETUDE_DEVICE std::int64_t lane_of(const Thread& thread) { return thread.index() % warp; }

template <class T> ETUDE_DEVICE T sum_of_warp(const Thread& thread, T x) {
  for (unsigned mask = warp / 2; mask > 0; mask /= 2) x += thread.across(x, mask);
  return x;
}

/// NaN is larger than any number.
template <class T> ETUDE_DEVICE T largest_of_row(const Thread& thread, const T* row, std::int64_t count) {
  T high = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = lane_of(thread); i < count; i += warp) high = row[i] > high || row[i] != row[i] ? row[i] : high;
  for (unsigned mask = warp / 2; mask > 0; mask /= 2) {
    const T other = thread.across(high, mask);
    high = other > high || other != other ? other : high;
  }
  return high;
}

template <class T>
ETUDE_DEVICE T sum_of_exponentials(const Thread& thread, const T* row, std::int64_t count, T high) {
  T sum = 0;
  for (std::int64_t i = lane_of(thread); i < count; i += warp) sum += exponential(row[i] - high);
  return sum_of_warp(thread, sum);
}

/// Warps without a row go along: a warp's threads meet.
template <class T>
struct SoftmaxKernel {
  static constexpr const char* name = "softmax";
  static constexpr unsigned threads = rows_of_block * warp;
  using Meets = void;
  std::int64_t rows, count;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    const std::int64_t row = row_of(thread), offset = row * count, here = row < rows ? count : 0;
    const T high = largest_of_row(thread, in + offset, here);
    const T scale = T(1) / sum_of_exponentials(thread, in + offset, here, high);
    for (std::int64_t i = lane_of(thread); i < here; i += warp)
      out[offset + i] = exponential(in[offset + i] - high) * scale;
  }
};

template <class T, bool sparse>
struct CrossentropyKernel {
  static constexpr const char* name = "crossentropy";
  static constexpr unsigned threads = rows_of_block * warp;
  using Meets = void;
  std::int64_t rows, count;
  const T* logits;
  const T* targets;
  const std::int32_t* labels;
  T* losses;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    const std::int64_t row = row_of(thread), here = row < rows ? count : 0;
    const T* of_row = logits + row * count;
    const T high = largest_of_row(thread, of_row, here);
    const T normaliser = high + logarithm(sum_of_exponentials(thread, of_row, here, high));
    T loss = 0;
    if constexpr (!sparse) {
      for (std::int64_t i = lane_of(thread); i < here; i += warp)
        if (const T target = targets[row * count + i]; target != T(0)) loss += target * (normaliser - of_row[i]);
      loss = sum_of_warp(thread, loss);
    } else if (row < rows) {
      const std::int32_t label = labels[row];
      loss = label >= 0 && label < count ? normaliser - of_row[label] : std::numeric_limits<T>::quiet_NaN();
    }
    if (row < rows && lane_of(thread) == 0) losses[row] = loss;
  }
};

/// The first of the largest; a row that begins with NaN has its largest there, other NaNs are passed over.
template <class T>
struct ArgMaxKernel {
  static constexpr const char* name = "argmax";
  static constexpr unsigned threads = rows_of_block * warp;
  using Meets = void;
  std::int64_t rows, count;
  const T* in;
  std::int32_t* out;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    const std::int64_t row = row_of(thread), here = row < rows ? count : 0;
    const T* of_row = in + row * count;
    T high = -std::numeric_limits<T>::infinity();
    auto best = static_cast<std::int32_t>(count);
    for (std::int64_t i = lane_of(thread); i < here; i += warp)
      if (of_row[i] > high || (of_row[i] == high && i < best)) high = of_row[i], best = static_cast<std::int32_t>(i);
    for (unsigned mask = warp / 2; mask > 0; mask /= 2) {
      const T other = thread.across(high, mask);
      const std::int32_t which = thread.across(best, mask);
      if (other > high || (other == high && which < best)) high = other, best = which;
    }
    if (row >= rows || lane_of(thread) != 0) return;
    out[row] = of_row[0] != of_row[0] || best == count ? 0 : best;
  }
};

// ---- rows of a block, or of several ----

constexpr unsigned threads_of_row = 256;

/// How rows are shared out: parts of a row, of a block each.
struct RowParts {
  static constexpr std::int64_t longest_of_warp = 1024, enough_rows = 128, long_row = 16384, least_part = 4096,
                                most = 64;
  std::int64_t rows, count, extent, parts;

  RowParts(std::int64_t rows_, std::int64_t count_) : rows(rows_), count(count_), extent(count_), parts(1) {
    if (rows >= enough_rows || count < long_row) return;
    extent = blocks_for(count, std::min(most, blocks_for(count, least_part)));
    parts = blocks_for(count, extent);
  }
  bool of_warp() const { return count <= longest_of_warp; }
  std::int64_t blocks() const { return rows * parts; }
  /// Bytes of the parts' summaries.
  std::size_t bytes(std::size_t each) const { return parts > 1 ? static_cast<std::size_t>(blocks()) * each : 0; }
};

/// The part of a row that a block has.
struct RowPart {
  std::int64_t row, part, first, last;

  ETUDE_DEVICE RowPart(const Thread& thread, const Divisor& parts, std::int64_t count, std::int64_t extent)
      : row(thread.block()) {
    part = parts.divide(row);
    first = part * extent;
    last = count - first < extent ? count : first + extent;
  }
};

/// exp(x - largest), 1 for the largest itself: also if it is infinite, which finish() looks after.
template <class T> ETUDE_DEVICE T weight(T x, T largest) { return x == largest ? T(1) : exponential(x - largest); }

/// The largest of some numbers, and the sum of exp(x - largest), from one look at each.
template <class T>
struct Normaliser {
  static constexpr int at_once = 4;
  T high = -std::numeric_limits<T>::infinity(), sum = 0;

  ETUDE_DEVICE static T larger(T a, T b) { return b > a || b != b ? b : a; }
  ETUDE_DEVICE static Normaliser join(const Normaliser& a, const Normaliser& b) {
    const T high = larger(a.high, b.high);
    return {high, a.sum * weight(a.high, high) + b.sum * weight(b.high, high)};
  }
  /// Of row[first], row[first + threads_of_row], ...
  ETUDE_DEVICE static Normaliser of(const T* row, std::int64_t first, std::int64_t last) {
    constexpr std::int64_t step = threads_of_row;
    Normaliser result;
    std::int64_t i = first;
    for (; i + (at_once - 1) * step < last; i += at_once * step) {
      T x[at_once];
      for (int k = 0; k < at_once; ++k) x[k] = row[i + k * step];
      T high = result.high;
      for (int k = 0; k < at_once; ++k) high = larger(high, x[k]);
      result.sum *= weight(result.high, high);
      for (int k = 0; k < at_once; ++k) result.sum += weight(x[k], high);
      result.high = high;
    }
    for (; i < last; i += step) result = join(result, {row[i], 1});
    return result;
  }
  /// The difference of infinite numbers is NaN.
  ETUDE_DEVICE Normaliser finish() const { return {high, high - high == 0 ? sum : high - high}; }
};

/// The largest of some numbers, and where it stands first; NaN is passed over.
template <class T>
struct Best {
  T high = -std::numeric_limits<T>::infinity();
  std::int32_t index = std::numeric_limits<std::int32_t>::max();

  ETUDE_DEVICE static Best join(const Best& a, const Best& b) {
    return b.high > a.high || (b.high == a.high && b.index < a.index) ? b : a;
  }
  ETUDE_DEVICE static Best of(const T* row, std::int64_t first, std::int64_t last) {
    Best result;
    for (std::int64_t i = first; i < last; i += threads_of_row)
      result = join(result, {row[i], static_cast<std::int32_t>(i)});
    return result;
  }
};

/// The summary of a row: that of its parts' summaries, or, where there are none, of the block's part.
template <class T, template <class> class Summary>
ETUDE_DEVICE Summary<T> summary_of_row(const Thread& thread, Summary<T>* shared, const T* in,
                                       const Summary<T>* summaries, const RowPart& mine, std::int64_t parts) {
  const std::int64_t t = thread.index();
  Summary<T> own;
  if (!summaries)
    own = Summary<T>::of(in, mine.first + t, mine.last);
  else if (t < parts)
    own = summaries[mine.row * parts + t];
  return cuda::join_of_block<threads_of_row>(
      thread, shared, own, [](const Summary<T>& a, const Summary<T>& b) { return Summary<T>::join(a, b); });
}

/// A summary of each part of each row.
template <class T, template <class> class Summary>
struct SummaryKernel {
  static constexpr const char* name = "summaries of rows";
  static constexpr unsigned threads = threads_of_row;
  using Meets = void;
  struct Shared {
    alignas(Summary<T>) unsigned char of_threads[threads * sizeof(Summary<T>)];
  };
  std::int64_t count, extent;
  Divisor parts;
  const T* in;
  Summary<T>* summaries;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const RowPart mine(thread, parts, count, extent);
    auto* of_threads = reinterpret_cast<Summary<T>*>(shared.of_threads);
    const Summary<T> all =
        summary_of_row<T, Summary>(thread, of_threads, in + mine.row * count, nullptr, mine, parts.by);
    if (thread.index() == 0) summaries[thread.block()] = all;
  }
};

template <class T>
struct LongSoftmaxKernel {
  static constexpr const char* name = "softmax of long rows";
  static constexpr unsigned threads = threads_of_row;
  using Meets = void;
  using Shared = typename SummaryKernel<T, Normaliser>::Shared;
  std::int64_t count, extent;
  Divisor parts;
  const T* in;
  const Normaliser<T>* summaries;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const RowPart mine(thread, parts, count, extent);
    const std::int64_t offset = mine.row * count;
    auto* of_threads = reinterpret_cast<Normaliser<T>*>(shared.of_threads);
    const Normaliser<T> row =
        summary_of_row<T, Normaliser>(thread, of_threads, in + offset, summaries, mine, parts.by).finish();
    const T scale = T(1) / row.sum;
    for (std::int64_t i = mine.first + thread.index(); i < mine.last; i += threads)
      out[offset + i] = exponential(in[offset + i] - row.high) * scale;
  }
};

/// Of sparse labels a block has a whole row; of others a part, whose sum it stores.
template <class T, bool sparse>
struct LongCrossentropyKernel {
  static constexpr const char* name = "crossentropy of long rows";
  static constexpr unsigned threads = threads_of_row;
  using Meets = void;
  using Shared = typename SummaryKernel<T, Normaliser>::Shared;
  std::int64_t count, extent, parts;
  Divisor blocks_of_row;
  const T* logits;
  const Normaliser<T>* summaries;
  const T* targets;
  const std::int32_t* labels;
  T* losses;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const RowPart mine(thread, blocks_of_row, count, extent);
    const T* row = logits + mine.row * count;
    auto* of_threads = reinterpret_cast<Normaliser<T>*>(shared.of_threads);
    const Normaliser<T> all = summary_of_row<T, Normaliser>(thread, of_threads, row, summaries, mine, parts).finish();
    const T normaliser = all.high + logarithm(all.sum);
    T loss = 0;
    if constexpr (sparse) {
      const std::int32_t label = labels[mine.row];
      loss = label >= 0 && label < count ? normaliser - row[label] : std::numeric_limits<T>::quiet_NaN();
    } else {
      for (std::int64_t i = mine.first + thread.index(); i < mine.last; i += threads)
        if (const T target = targets[mine.row * count + i]; target != T(0)) loss += target * (normaliser - row[i]);
      thread.sync();
      loss = cuda::join_of_block<threads>(thread, reinterpret_cast<T*>(shared.of_threads), loss,
                                          [](T a, T b) { return a + b; });
    }
    if (thread.index() == 0) losses[thread.block()] = loss;
  }
};

/// The losses of a row's parts, added up.
template <class T>
struct AddParts {
  static constexpr const char* name = "add parts of rows";
  std::int64_t parts;
  const T* of_parts;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t row) const {
    T sum = of_parts[row * parts];
    for (std::int64_t part = 1; part < parts; ++part) sum += of_parts[row * parts + part];
    out[row] = sum;
  }
};

template <class T>
struct LongArgMaxKernel {
  static constexpr const char* name = "argmax of long rows";
  static constexpr unsigned threads = threads_of_row;
  using Meets = void;
  using Shared = typename SummaryKernel<T, Best>::Shared;
  std::int64_t count, parts;
  const T* in;
  const Best<T>* summaries;
  std::int32_t* out;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const RowPart mine(thread, {}, count, count);
    const T* row = in + mine.row * count;
    const Best<T> best =
        summary_of_row<T, Best>(thread, reinterpret_cast<Best<T>*>(shared.of_threads), row, summaries, mine, parts);
    if (thread.index() == 0) out[mine.row] = row[0] != row[0] || best.index >= count ? 0 : best.index;
  }
};

/// Queues the summaries of the parts of rows, where there are several; null where there is one.
template <template <class> class Summary, class T>
const Summary<T>* summarise(cuda::Runtime& runtime, const RowParts& of, const T* in, std::byte* workspace) {
  if (of.parts == 1) return nullptr;
  auto* summaries = reinterpret_cast<Summary<T>*>(workspace);
  launch(runtime, of.blocks(), SummaryKernel<T, Summary>{of.count, of.extent, of.parts, in, summaries});
  return summaries;
}

/// What `body` makes of a value of the elements' type.
template <class Body> std::size_t bytes_of(DType dtype, Body body) {
  std::size_t bytes = 0;
  cuda::with_float(dtype, [&](auto element) { bytes = body(element); });
  return bytes;
}

template <class T>
void long_crossentropy(cuda::Runtime& runtime, const Crossentropy& c, const RowParts& of, Addresses addresses) {
  const T* logits = at<const T>(addresses, c.logits);
  T* losses = at<T>(addresses, c.losses);
  auto* workspace = at<std::byte>(addresses, c.workspace);
  const Normaliser<T>* summaries = summarise<Normaliser>(runtime, of, logits, workspace);
  if (c.sparse)
    return launch(runtime, of.rows,
                  LongCrossentropyKernel<T, true>{of.count,
                                                  of.count,
                                                  of.parts,
                                                  {},
                                                  logits,
                                                  summaries,
                                                  nullptr,
                                                  at<const std::int32_t>(addresses, c.targets),
                                                  losses});
  T* of_parts = of.parts == 1 ? losses : reinterpret_cast<T*>(workspace + of.bytes(sizeof(Normaliser<T>)));
  launch(runtime, of.blocks(),
         LongCrossentropyKernel<T, false>{of.count, of.extent, of.parts, of.parts, logits, summaries,
                                          at<const T>(addresses, c.targets), nullptr, of_parts});
  if (of.parts > 1) launch_each(runtime, of.rows, AddParts<T>{of.parts, of_parts, losses});
}

}  // namespace

std::size_t Cuda::workspace(const Softmax& s) const {
  return bytes_of(s.in.dtype, [&]<class T>(T) { return RowParts(s.rows, s.count).bytes(sizeof(Normaliser<T>)); });
}
std::size_t Cuda::workspace(const Crossentropy& c) const {
  return bytes_of(c.logits.dtype, [&]<class T>(T) {
    return RowParts(c.rows, c.count).bytes(sizeof(Normaliser<T>) + (c.sparse ? 0 : sizeof(T)));
  });
}
std::size_t Cuda::workspace(const ArgMax& a) const {
  return bytes_of(a.in.dtype, [&]<class T>(T) { return RowParts(a.rows, a.count).bytes(sizeof(Best<T>)); });
}

void Cuda::run(const Softmax& s, Addresses addresses) {
  const RowParts of(s.rows, s.count);
  cuda::with_float(s.in.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, s.in);
    T* out = at<T>(addresses, s.out);
    if (of.of_warp())
      return launch(*runtime_, blocks_for(s.rows, rows_of_block), SoftmaxKernel<T>{s.rows, s.count, in, out});
    const Normaliser<T>* summaries = summarise<Normaliser>(*runtime_, of, in, at<std::byte>(addresses, s.workspace));
    launch(*runtime_, of.blocks(), LongSoftmaxKernel<T>{s.count, of.extent, of.parts, in, summaries, out});
  });
}

void Cuda::run(const Crossentropy& c, Addresses addresses) {
  const RowParts of(c.rows, c.count);
  cuda::with_float(c.logits.dtype, [&]<class T>(T) {
    if (!of.of_warp()) return long_crossentropy<T>(*runtime_, c, of, addresses);
    const T* logits = at<const T>(addresses, c.logits);
    T* losses = at<T>(addresses, c.losses);
    const std::int64_t blocks = blocks_for(c.rows, rows_of_block);
    if (c.sparse)
      launch(*runtime_, blocks,
             CrossentropyKernel<T, true>{c.rows, c.count, logits, nullptr, at<const std::int32_t>(addresses, c.targets),
                                         losses});
    else
      launch(*runtime_, blocks,
             CrossentropyKernel<T, false>{c.rows, c.count, logits, at<const T>(addresses, c.targets), nullptr, losses});
  });
}

void Cuda::run(const ArgMax& a, Addresses addresses) {
  const RowParts of(a.rows, a.count);
  cuda::with_float(a.in.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, a.in);
    auto* out = at<std::int32_t>(addresses, a.out);
    if (of.of_warp())
      return launch(*runtime_, blocks_for(a.rows, rows_of_block), ArgMaxKernel<T>{a.rows, a.count, in, out});
    const Best<T>* summaries = summarise<Best>(*runtime_, of, in, at<std::byte>(addresses, a.workspace));
    launch(*runtime_, a.rows, LongArgMaxKernel<T>{a.count, of.parts, in, summaries, out});
  });
}

}  // namespace etude
