#include <limits>

#include "cuda/cuda.hpp"
#include "cuda/launch.hpp"
#include "cuda/long_rows.hpp"

// Kernels on whole rows: a warp for each row; a block for each long row; and several blocks per row, each with a part
// of it, for few very long rows.

namespace etude {

using cuda::at;
using cuda::Best;
using cuda::blocks_for;
using cuda::exponential;
using cuda::launch;
using cuda::launch_each;
using cuda::logarithm;
using cuda::Normaliser;
using cuda::RowParts;
using cuda::Thread;
using cuda::warp;
using instruction::ArgMax;
using instruction::Crossentropy;
using instruction::Softmax;

namespace {

constexpr unsigned rows_of_block = 4;

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

/// Warps without a row run too, because the threads of a warp synchronize.
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

/// The first maximum. If a row begins with NaN, that is its maximum; other NaNs are ignored.
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

/// Enqueues the summaries of the parts of rows, if there are several; otherwise null.
template <template <class> class Summary, class T>
const Summary<T>* summarise(cuda::Runtime& runtime, const RowParts& of, const T* in, std::byte* workspace) {
  if (of.parts == 1) return nullptr;
  auto* summaries = reinterpret_cast<Summary<T>*>(workspace);
  launch(runtime, of.blocks(), cuda::SummaryKernel<T, Summary>{of.count, of.extent, of.parts, in, summaries});
  return summaries;
}

/// Calls `body` with a value of the elements' type, and returns its result.
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
                  cuda::LongCrossentropyKernel<T, true>{of.count,
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
         cuda::LongCrossentropyKernel<T, false>{of.count, of.extent, of.parts, of.parts, logits, summaries,
                                                at<const T>(addresses, c.targets), nullptr, of_parts});
  if (of.parts > 1) launch_each(runtime, of.rows, cuda::AddParts<T>{of.parts, of_parts, losses});
}

}  // namespace

std::size_t Cuda::wanted_workspace(const Softmax& s) const {
  return bytes_of(s.in.dtype, [&]<class T>(T) { return RowParts(s.rows, s.count).bytes(sizeof(Normaliser<T>)); });
}
std::size_t Cuda::wanted_workspace(const Crossentropy& c) const {
  return bytes_of(c.logits.dtype, [&]<class T>(T) {
    return RowParts(c.rows, c.count).bytes(sizeof(Normaliser<T>) + (c.sparse ? 0 : sizeof(T)));
  });
}
std::size_t Cuda::wanted_workspace(const ArgMax& a) const {
  return bytes_of(a.in.dtype, [&]<class T>(T) { return RowParts(a.rows, a.count).bytes(sizeof(Best<T>)); });
}

void Cuda::compute(const Softmax& s, Addresses addresses) {
  const RowParts of(s.rows, s.count);
  cuda::with_float(s.in.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, s.in);
    T* out = at<T>(addresses, s.out);
    if (of.of_warp())
      return launch(*runtime_, blocks_for(s.rows, rows_of_block), SoftmaxKernel<T>{s.rows, s.count, in, out});
    const Normaliser<T>* summaries = summarise<Normaliser>(*runtime_, of, in, at<std::byte>(addresses, s.workspace));
    launch(*runtime_, of.blocks(), cuda::LongSoftmaxKernel<T>{s.count, of.extent, of.parts, in, summaries, out});
  });
}

void Cuda::compute(const Crossentropy& c, Addresses addresses) {
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

void Cuda::compute(const ArgMax& a, Addresses addresses) {
  const RowParts of(a.rows, a.count);
  cuda::with_float(a.in.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, a.in);
    auto* out = at<std::int32_t>(addresses, a.out);
    if (of.of_warp())
      return launch(*runtime_, blocks_for(a.rows, rows_of_block), ArgMaxKernel<T>{a.rows, a.count, in, out});
    const Best<T>* summaries = summarise<Best>(*runtime_, of, in, at<std::byte>(addresses, a.workspace));
    launch(*runtime_, a.rows, cuda::LongArgMaxKernel<T>{a.count, of.parts, in, summaries, out});
  });
}

}  // namespace etude
