#include "etude/layers/attention.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {

MultiHeadAttention::MultiHeadAttention(MultiHeadAttentionOptions options)
    : ProjectedAttention(class_entry<MultiHeadAttention>, std::move(options)),
      options_(described_options<MultiHeadAttentionOptions>()) {
  const std::int64_t value_dim = options_.value_dim.value_or(options_.key_dim);
  check(options_.num_heads > 0 && options_.key_dim > 0 && value_dim > 0, ErrorKind::value, where(),
        "num_heads = ", options_.num_heads, ", key_dim = ", options_.key_dim, ", value_dim = ", value_dim,
        " - expected positive numbers - set both.");
}

void MultiHeadAttention::build_for(const std::vector<Shape>& shapes) {
  const Shape& query = shapes[0];
  check(query.rank() >= 3, ErrorKind::shape, where(), "a query of shape ", query,
        " - expected [batch, steps, features] - reshape the data.");
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : options_.attention_axes.all())
    axes.push_back(query.axis(static_cast<std::ptrdiff_t>(axis), where()));
  for (std::size_t axis = 1; options_.attention_axes.empty() && axis + 1 < query.rank(); ++axis) axes.push_back(axis);
  for (const std::size_t axis : axes)
    check(axis > 0 && axis + 1 < query.rank() && std::ranges::count(axes, axis) == 1, ErrorKind::value, where(),
          "attention_axes = ", options_.attention_axes, " for a query of shape ", query,
          " - expected different axes between batch and features - set attention_axes.");
  Shape features;
  for (const std::int64_t extent : options_.output_shape.all()) features.append(extent);
  if (options_.output_shape.empty()) features.append(query[-1]);
  build_projections(shapes,
                    {.queries = options_.num_heads,
                     .keys = options_.num_heads,
                     .key_dim = options_.key_dim,
                     .value_dim = options_.value_dim.value_or(options_.key_dim)},
                    axes, features);
}

GroupedQueryAttention::GroupedQueryAttention(GroupedQueryAttentionOptions options)
    : ProjectedAttention(class_entry<GroupedQueryAttention>, std::move(options)),
      options_(described_options<GroupedQueryAttentionOptions>()) {
  const auto& o = options_;
  check(o.head_dim > 0 && o.num_query_heads > 0 && o.num_key_value_heads > 0, ErrorKind::value, where(),
        "head_dim = ", o.head_dim, ", num_query_heads = ", o.num_query_heads,
        ", num_key_value_heads = ", o.num_key_value_heads, " - expected positive numbers - set all three.");
  check(o.num_query_heads % o.num_key_value_heads == 0, ErrorKind::value, where(),
        "num_query_heads = ", o.num_query_heads, ", num_key_value_heads = ", o.num_key_value_heads,
        " - expected a multiple of num_key_value_heads - set num_query_heads.");
}

void GroupedQueryAttention::build_for(const std::vector<Shape>& shapes) {
  const Shape& query = shapes[0];
  check(query.rank() == 3, ErrorKind::shape, where(), "a query of shape ", query,
        " - expected [batch, steps, features] - reshape the data.");
  build_projections(shapes,
                    {.queries = options_.num_query_heads,
                     .keys = options_.num_key_value_heads,
                     .key_dim = options_.head_dim,
                     .value_dim = options_.head_dim},
                    {1}, {query[-1]});
}

}  // namespace etude
