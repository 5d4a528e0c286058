#include "cuda/attention.hpp"

#include <algorithm>
#include <limits>

#include "cuda/cuda.hpp"
#include "cuda/launch.hpp"
#include "etude/execution/find_attention.hpp"

namespace etude {

using cuda::at;
using cuda::AttentionDerivative;
using cuda::AttentionKernel;
using cuda::AttentionKeyKernel;
using cuda::AttentionQueryKernel;
using cuda::AttentionResult;
using cuda::BatchAxes;
using cuda::blocks_for;
using cuda::launch;
using cuda::MatrixOperand;
using cuda::narrow;
using cuda::RowStatistics;
using cuda::Scores;
using instruction::Attention;
using instruction::AttentionGradient;
using instruction::AttentionShape;
using instruction::StridedOperand;

namespace {

/// A block goes through all keys, or all queries, one tile after the other. With fewer blocks than this many of them
/// for each, products and a softmax use more of a GPU.
constexpr std::int64_t most_rows_of_block = 512;

BatchAxes axes_of(const AttentionShape& shape, const Shape& strides) {
  BatchAxes axes;
  axes.count = static_cast<int>(shape.batch.rank());
  std::copy(shape.batch.begin(), shape.batch.end(), axes.extents);
  std::copy_n(strides.begin(), shape.batch.rank(), axes.strides);
  return axes;
}

template <class T>
MatrixOperand<T> read(const AttentionShape& shape, const StridedOperand& from, Addresses addresses) {
  if (from.operand.space < 0) return {};
  return {at<const T>(addresses, from.operand), from.strides[-2], from.strides[-1], axes_of(shape, from.strides)};
}

template <class T>
AttentionResult<T> written(const AttentionShape& shape, const StridedOperand& to, Addresses addresses) {
  if (to.operand.space < 0) return {};
  return {at<T>(addresses, to.operand), to.strides[-2], to.strides[-1], axes_of(shape, to.strides)};
}

/// The operands of the scores, for tiles of `rows` queries or keys.
template <class T, class I> Scores<T> scores_of(const I& i, std::int64_t tiles, Addresses addresses) {
  const AttentionShape& s = i.attention;
  return {narrow(s.queries),
          narrow(s.keys),
          narrow(s.depth),
          narrow(s.width),
          static_cast<float>(s.scale),
          static_cast<float>(s.absent),
          tiles,
          read<T>(s, i.query, addresses),
          read<T>(s, i.key, addresses),
          read<T>(s, i.value, addresses),
          read<bool>(s, i.mask, addresses)};
}

/// Calls body(a number of the stored type, the most features of its kernels).
template <class Body> void with_kernel(const AttentionShape& shape, Body body) {
  const auto with_dims = [&](auto stored) {
    if (std::max(shape.depth, shape.width) <= 64) return body(stored, std::integral_constant<int, 64>{});
    body(stored, std::integral_constant<int, cuda::most_features>{});
  };
  if (shape.dtype == DType::float16) return with_dims(Float16{});
  if (shape.dtype == DType::bfloat16) return with_dims(BFloat16{});
  with_dims(float{});
}

}  // namespace

AttentionPatterns Cuda::attention_in(const Graph& graph, const Wanted& wanted) const {
  return find_attention(graph, wanted, *this);
}

bool Cuda::attends(const AttentionShape& s) const {
  const std::int64_t batch = s.batch.size(), least = std::min(s.queries, s.keys), most = std::max(s.queries, s.keys);
  if (s.dtype == DType::float64 || batch * least * s.depth * s.width == 0) return false;
  if (std::max(s.depth, s.width) > cuda::most_features || most > std::numeric_limits<int>::max() / 2) return false;
  constexpr std::int64_t tile = cuda::AttentionTile<float, 64>::extent;
  return s.depth + s.width <= options_.most_attention_work * static_cast<std::int64_t>(size_of(s.dtype)) &&
         most <= batch * blocks_for(least, tile) * most_rows_of_block;
}

std::size_t Cuda::wanted_workspace(const AttentionGradient& g) const {
  return static_cast<std::size_t>(g.attention.batch.size() * g.attention.queries) * sizeof(float);
}

void Cuda::compute(const Attention& a, Addresses addresses) {
  const AttentionShape& s = a.attention;
  with_kernel(s, [&]<class T, int dims>(T, std::integral_constant<int, dims>) {
    using Kernel = AttentionKernel<T, dims>;
    const std::int64_t tiles = blocks_for(s.queries, Kernel::tile);
    launch(*runtime_, s.batch.size() * tiles,
           Kernel{scores_of<T>(a, tiles, addresses), written<T>(s, a.out, addresses),
                  at<RowStatistics>(addresses, a.statistics)});
  });
}

void Cuda::compute(const AttentionGradient& g, Addresses addresses) {
  const AttentionShape& s = g.attention;
  with_kernel(s, [&]<class T, int dims>(T, std::integral_constant<int, dims>) {
    using ByQuery = AttentionQueryKernel<T, dims>;
    using ByKey = AttentionKeyKernel<T, dims>;
    const auto derivative = [&](std::int64_t tiles) {
      return AttentionDerivative<T>{scores_of<T>(g, tiles, addresses), read<T>(s, g.d_out, addresses),
                                    at<const RowStatistics>(addresses, g.statistics),
                                    at<float>(addresses, g.workspace)};
    };
    const std::int64_t query_tiles = blocks_for(s.queries, ByQuery::tile), key_tiles = blocks_for(s.keys, ByKey::tile);
    launch(*runtime_, s.batch.size() * query_tiles,
           ByQuery{derivative(query_tiles), read<T>(s, g.out, addresses), written<T>(s, g.d_query, addresses)});
    if (g.d_key.operand.space < 0 && g.d_value.operand.space < 0) return;
    launch(*runtime_, s.batch.size() * key_tiles,
           ByKey{derivative(key_tiles), written<T>(s, g.d_key, addresses), written<T>(s, g.d_value, addresses)});
  });
}

}  // namespace etude
