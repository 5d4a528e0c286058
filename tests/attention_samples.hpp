#pragma once

#include <optional>
#include <span>
#include <vector>

#include "etude/graph/graph.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

/// Attention as layers write it, for tests of its instructions.
namespace etude::samples {

/// Attention of heads: query [batch, queries, heads, depth], key and value [batch, keys, heads, ..].
struct Heads {
  std::int64_t batch = 2, queries = 5, keys = 7, heads = 3, depth = 4, width = 4;

  std::vector<Shape> shapes() const {
    return {{batch, queries, heads, depth}, {batch, keys, heads, depth}, {batch, keys, heads, width}};
  }
};

/// The softmax of the scores, and the result of attention.
struct Mixed {
  Value weights, output;
};

/// x [batch, steps, heads, dim] to [batch, heads, steps, dim], or back.
inline Value by_heads(Value x) { return ops::transpose(x, {0, 2, 1, 3}); }

/// As MultiHeadAttention computes it: the mask is boolean, and broadcasts to the scores.
inline Mixed attend(Value query, Value key, Value value, double scale = 1, Value mask = {}) {
  const double before = is_half(query.dtype()) ? scale : 1;
  const Value q = by_heads(query * before), k = by_heads(key);
  Value scores = ops::matmul(q, k, false, true) * (scale / before);
  const double absent = scores.dtype() == DType::float16 ? -3e4 : -1e9;
  if (mask) scores = scores + (1 - ops::cast(mask, scores.dtype())) * absent;
  const Value weights = ops::softmax(scores);
  return {weights, by_heads(ops::matmul(weights, by_heads(value)))};
}

/// The result, and the gradients of x[0], x[1] and x[2]; x[3] is the factor of the result, x[4] a mask.
inline std::vector<Value> with_gradients(std::span<const Value> x, double scale) {
  const Value output = attend(x[0], x[1], x[2], scale, x.size() > 4 ? x[4] : Value{}).output;
  std::vector<Value> results{output};
  for (const Value& gradient : gradients(ops::sum(ops::cast(output * x[3], DType::float32)), x.first(3)))
    results.push_back(gradient);
  return results;
}

}  // namespace etude::samples
