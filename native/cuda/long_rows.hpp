#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/block.hpp"
#include "cuda/divisor.hpp"
#include "cuda/kernel.hpp"

// Kernels for rows that are too long for a warp: a block processes a whole row, or a part of one.

namespace etude::cuda {

ETUDE_DEVICE float exponential(float x) { return expf(x); }
ETUDE_DEVICE double exponential(double x) { return exp(x); }
ETUDE_DEVICE float logarithm(float x) { return logf(x); }
ETUDE_DEVICE double logarithm(double x) { return log(x); }

constexpr unsigned threads_of_row = 256;

/// The division of rows into parts, one block each.
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
  /// The bytes of the parts' summaries.
  std::size_t bytes(std::size_t each) const { return parts > 1 ? static_cast<std::size_t>(blocks()) * each : 0; }
};

/// The part of a row that a block processes.
struct RowPart {
  std::int64_t row, part, first, last;

  ETUDE_DEVICE RowPart(const Thread& thread, const Divisor& parts, std::int64_t count, std::int64_t extent)
      : row(thread.block()) {
    part = parts.divide(row);
    first = part * extent;
    last = count - first < extent ? count : first + extent;
  }
};

/// exp(x - largest). It is 1 for the largest itself, even if it is infinite; finish() handles that case.
template <class T> ETUDE_DEVICE T weight(T x, T largest) { return x == largest ? T(1) : exponential(x - largest); }

/// The maximum of some numbers, and the sum of exp(x - maximum), in one pass.
template <class T>
struct Normaliser {
  static constexpr int at_once = 4;
  T high = -std::numeric_limits<T>::infinity(), sum = 0;

  ETUDE_DEVICE static T larger(T a, T b) { return b > a || b != b ? b : a; }
  ETUDE_DEVICE static Normaliser combine(const Normaliser& a, const Normaliser& b) {
    const T high = larger(a.high, b.high);
    return {high, a.sum * weight(a.high, high) + b.sum * weight(b.high, high)};
  }
  /// The result for row[first], row[first + threads_of_row], ...
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
    for (; i < last; i += step) result = combine(result, {row[i], 1});
    return result;
  }
  /// The difference of infinite numbers is NaN.
  ETUDE_DEVICE Normaliser finish() const { return {high, high - high == 0 ? sum : high - high}; }
};

/// The maximum of some numbers, and its first position; NaN is ignored.
template <class T>
struct Best {
  T high = -std::numeric_limits<T>::infinity();
  std::int32_t index = std::numeric_limits<std::int32_t>::max();

  ETUDE_DEVICE static Best combine(const Best& a, const Best& b) {
    return b.high > a.high || (b.high == a.high && b.index < a.index) ? b : a;
  }
  ETUDE_DEVICE static Best of(const T* row, std::int64_t first, std::int64_t last) {
    Best result;
    for (std::int64_t i = first; i < last; i += threads_of_row)
      result = combine(result, {row[i], static_cast<std::int32_t>(i)});
    return result;
  }
};

/// The summary of a row, from the summaries of its parts or, without parts, from the block's row.
template <class T, template <class> class Summary>
ETUDE_DEVICE Summary<T> summary_of_row(const Thread& thread, Summary<T>* shared, const T* in,
                                       const Summary<T>* summaries, const RowPart& mine, std::int64_t parts) {
  const std::int64_t t = thread.index();
  Summary<T> own;
  if (!summaries)
    own = Summary<T>::of(in, mine.first + t, mine.last);
  else if (t < parts)
    own = summaries[mine.row * parts + t];
  return combine_block<threads_of_row>(
      thread, shared, own, [](const Summary<T>& a, const Summary<T>& b) { return Summary<T>::combine(a, b); });
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

/// With sparse labels a block processes a whole row; otherwise a part, whose sum it stores.
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
      loss =
          combine_block<threads>(thread, reinterpret_cast<T*>(shared.of_threads), loss, [](T a, T b) { return a + b; });
    }
    if (thread.index() == 0) losses[thread.block()] = loss;
  }
};

/// Adds up the losses of a row's parts.
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

}  // namespace etude::cuda
