#include "etude/graph/detail/op.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/pooling.hpp"
#include "op_entries.hpp"

namespace etude::testing {

namespace {

/// A convolution's operands: x and kernel, and their window.
struct Convolved {
  Shape x, kernel;
  Window window;
  Shape y() const { return {x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), kernel[3]}; }
  std::string name() const {
    return x.to_string() + " by " + kernel.to_string() + " at " + Shape(window.strides).to_string() + ", dilated " +
           Shape(window.dilation).to_string() + (window.padded() ? ", padded" : "");
  }
};

/// Odd sizes, strides of 1 to 3, padding, dilation, groups, axes of 1; windows with gaps between them.
std::vector<Convolved> convolutions() {
  const auto same = [](const Shape& x, const Shape& kernel, Window window) {
    window.extent = {kernel[0], kernel[1]};
    return Convolved{x, kernel, ops::padded(window, "same", {x[1], x[2]})};
  };
  const auto valid = [](const Shape& x, const Shape& kernel, Window window) {
    window.extent = {kernel[0], kernel[1]};
    return Convolved{x, kernel, window};
  };
  return {valid({2, 4, 5, 1}, {3, 3, 1, 3}, {}),
          same({1, 3, 4, 2}, {2, 3, 2, 2}, {}),
          valid({1, 5, 6, 2}, {2, 2, 2, 3}, {.strides = {2, 3}}),
          same({2, 5, 4, 1}, {3, 3, 1, 2}, {.strides = {2, 2}}),
          same({1, 4, 4, 1}, {1, 2, 1, 2}, {.strides = {3, 3}}),
          valid({1, 6, 5, 2}, {2, 3, 2, 1}, {.dilation = {2, 2}}),
          same({1, 4, 3, 1}, {3, 2, 1, 2}, {.dilation = {1, 2}}),
          same({2, 3, 3, 4}, {2, 2, 2, 6}, {}),
          valid({1, 3, 3, 3}, {2, 2, 1, 3}, {.strides = {1, 2}}),
          valid({2, 1, 1, 3}, {1, 1, 3, 2}, {}),
          valid({1, 3, 1, 2}, {3, 1, 2, 1}, {})};
}

template <class Apply> std::vector<OpCase> convolution_cases(Shape (*a)(const Convolved&), Shape (*b)(const Convolved&),
                                                             Apply apply) {
  std::vector<OpCase> cases;
  for (const Convolved& c : convolutions())
    cases.push_back({c.name(), {number(a(c)), number(b(c))}, [=](Values x) { return apply(x, c); }});
  return cases;
}

Shape shape_x(const Convolved& c) { return c.x; }
Shape shape_kernel(const Convolved& c) { return c.kernel; }
Shape shape_y(const Convolved& c) { return c.y(); }

}  // namespace

template <> OpEntry entry(const op::Convolution&) {
  return {"Convolution", Gradient::passes, convolution_cases(shape_x, shape_kernel, [](Values x, const Convolved& c) {
            return ops::convolution(x[0], x[1], c.window);
          })};
}
template <> OpEntry entry(const op::ConvolutionInput&) {
  return {"ConvolutionInput", Gradient::passes,
          convolution_cases(shape_y, shape_kernel, [](Values x, const Convolved& c) {
            return ops::convolution_input(x[0], x[1], c.window, c.x);
          })};
}
template <> OpEntry entry(const op::ConvolutionFilter&) {
  return {"ConvolutionFilter", Gradient::passes, convolution_cases(shape_x, shape_y, [](Values x, const Convolved& c) {
            return ops::convolution_filter(x[0], x[1], c.window, c.kernel);
          })};
}

namespace {

/// Windows that are adjacent, overlap, leave gaps and extend into padding; one needs more than a byte for its cells.
std::vector<std::pair<Shape, Window>> poolings() {
  std::vector<std::pair<Shape, Window>> result{{{2, 4, 5, 3}, {.extent = {2, 2}, .strides = {2, 2}}},
                                               {{1, 4, 4, 1}, {.extent = {3, 2}, .strides = {1, 1}}},
                                               {{1, 6, 5, 2}, {.extent = {2, 1}, .strides = {3, 2}}},
                                               {{1, 5, 3, 9}, {.extent = {2, 2}, .strides = {2, 2}}},
                                               {{2, 3, 5, 2}, {.extent = {3, 3}, .strides = {2, 2}}},
                                               {{1, 17, 18, 1}, {.extent = {17, 17}, .strides = {1, 1}}},
                                               {{2, 1, 1, 2}, {}}};
  for (const std::size_t i : {3u, 4u})
    result[i].second = ops::padded(result[i].second, "same", {result[i].first[1], result[i].first[2]});
  return result;
}

Shape pooled(const Shape& x, const Window& window) {
  return {x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), x[3]};
}

/// Any cells of the window, including those in the padding.
Argument cells(const Shape& shape, const Window& window) {
  const auto count = static_cast<double>(window.cells());
  return {shape, Numbers::between, 0, count, count > 256 ? DType::int32 : DType::uint8};
}

std::string name_of(const Shape& x, const Window& window) {
  return x.to_string() + " by " + Shape(window.extent).to_string() + " at " + Shape(window.strides).to_string();
}

}  // namespace

template <> OpEntry entry(const op::PoolArgMax&) {
  OpEntry entry{"PoolArgMax", Gradient::zero, {}};
  for (const auto& [x, window] : poolings())
    entry.cases.push_back({name_of(x, window), {spaced(x)}, [over = window](Values v) {
                             return ops::cast(ops::pool_argmax(v[0], over), v[0].dtype());
                           }});
  return entry;
}
template <> OpEntry entry(const op::PoolGather&) {
  OpEntry entry{"PoolGather", Gradient::passes, {}};
  for (const auto& [x, window] : poolings()) {
    entry.cases.push_back({name_of(x, window),
                           {number(x), cells(pooled(x, window), window)},
                           [over = window](Values v) { return ops::pool_gather(v[0], v[1], over); }});
    entry.cases.push_back({name_of(x, window) + " of the largest", {spaced(x)}, [over = window](Values v) {
                             return ops::max_pool(v[0], over);
                           }});
  }
  return entry;
}
template <> OpEntry entry(const op::PoolScatter&) {
  OpEntry entry{"PoolScatter", Gradient::passes, {}};
  for (const auto& [x, window] : poolings())
    entry.cases.push_back({name_of(x, window),
                           {number(pooled(x, window)), cells(pooled(x, window), window)},
                           [from = x, over = window](Values v) { return ops::pool_scatter(v[0], v[1], over, from); }});
  return entry;
}

}  // namespace etude::testing
