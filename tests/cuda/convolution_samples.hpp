#pragma once

#include <optional>
#include <string>
#include <vector>

#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "op_cases.hpp"

/// A convolution, pooled or not, and its gradients, on a device and on the CPU.
namespace etude::samples {

struct Convolved {
  Shape x, kernel;  ///< [batch, height, width, channels], [height, width, channels / groups, filters]
  Window window = {};
  std::optional<Window> pool = {};
  bool same = false;  ///< padded like Keras's "same"

  Window padded() const {
    Window result = window;
    result.extent = {kernel[0], kernel[1]};
    return same ? ops::padded(result, "same", {x[1], x[2]}) : result;
  }
  std::string name() const {
    return x.to_string() + " by " + kernel.to_string() + " at " + Shape(window.strides).to_string() + ", dilated " +
           Shape(window.dilation).to_string() + (same ? ", padded" : "") + (pool ? ", pooled" : "");
  }
  Shape y() const {
    const Window w = padded();
    Shape result{x[0], w.outputs(0, x[1]), w.outputs(1, x[2]), kernel[3]};
    if (pool) result = {result[0], pool->outputs(0, result[1]), pool->outputs(1, result[2]), result[3]};
    return result;
  }
};

/// y, and the gradients of x and of the kernel; the third operand is the gradient of y.
inline std::vector<testing::Function> functions_of(const Convolved& c) {
  const auto y = [c](std::span<const Value> v) {
    const Value result = ops::convolution(v[0], v[1], c.padded());
    return c.pool ? ops::max_pool(result, *c.pool) : result;
  };
  const auto gradient_of = [y](std::size_t of) {
    return [=](std::span<const Value> v) {
      const std::vector<Value> sources{v[of]};
      return gradients(ops::sum(y(v) * v[2]), sources)[0];
    };
  };
  return {y, gradient_of(0), gradient_of(1)};
}

/// Compares all results; `count`, if it is set, is called with the number of the function before and after each.
inline void check_convolution(Device& device, const Convolved& c, DType dtype, testing::Tolerance tolerance,
                              const std::function<void(std::size_t)>& computed = {}) {
  Random random = testing::draws(8);
  const std::vector<Tensor> x{testing::random_tensor(random, c.x, dtype),
                              testing::random_tensor(random, c.kernel, dtype),
                              testing::random_tensor(random, c.y(), dtype)};
  const std::vector<testing::Function> functions = functions_of(c);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    INFO(c.name() << ", " << dtype << ", function " << i);
    const Tensor got = testing::run_on(device, x, functions[i]);
    if (computed) computed(i);
    CHECK(testing::difference(got, testing::run_on(cpu_device(), x, functions[i]), tolerance) == "");
  }
}

inline constexpr Window pairs{.extent = {2, 2}, .strides = {2, 2}};

/// One channel per group: with one filter and with several, strided, dilated, pooled; numbers of channels that are
/// multiples of four and others; enough places for several chunks of the filter's gradient.
inline std::vector<Convolved> depthwise_convolutions() {
  return {{.x = {2, 5, 6, 8}, .kernel = {3, 3, 1, 8}, .same = true},
          {.x = {2, 5, 6, 3}, .kernel = {2, 3, 1, 3}},
          {.x = {1, 6, 5, 3}, .kernel = {3, 3, 1, 6}, .same = true},
          {.x = {1, 7, 6, 4}, .kernel = {3, 2, 1, 12}, .window = {.strides = {2, 3}}},
          {.x = {2, 7, 7, 4}, .kernel = {3, 3, 1, 4}, .window = {.strides = {2, 2}}, .same = true},
          {.x = {1, 9, 8, 5}, .kernel = {3, 3, 1, 5}, .window = {.dilation = {2, 3}}, .same = true},
          {.x = {1, 9, 8, 4}, .kernel = {2, 2, 1, 4}, .window = {.dilation = {3, 2}}},
          {.x = {2, 6, 6, 4}, .kernel = {3, 3, 1, 4}, .pool = pairs, .same = true},
          {.x = {1, 6, 6, 3}, .kernel = {3, 3, 1, 6}, .pool = pairs, .same = true},
          {.x = {3, 20, 18, 36}, .kernel = {3, 3, 1, 36}, .same = true},
          {.x = {1, 1, 1, 2}, .kernel = {1, 1, 1, 2}}};
}

/// Products of patches: numbers of channels and filters that are multiples of four and others; x itself; some images
/// per chunk.
inline std::vector<Convolved> dense_convolutions() {
  return {{.x = {3, 5, 6, 4}, .kernel = {3, 3, 4, 8}, .same = true},
          {.x = {3, 5, 4, 3}, .kernel = {2, 3, 3, 5}},
          {.x = {5, 4, 4, 8}, .kernel = {3, 3, 8, 4}, .window = {.strides = {2, 2}}, .same = true},
          {.x = {2, 6, 6, 4}, .kernel = {2, 2, 4, 3}, .window = {.dilation = {2, 3}}},
          {.x = {3, 6, 6, 4}, .kernel = {3, 3, 4, 4}, .pool = pairs, .same = true},
          {.x = {3, 4, 5, 6}, .kernel = {1, 1, 6, 4}},
          {.x = {3, 4, 4, 6}, .kernel = {1, 1, 6, 4}, .pool = pairs},
          {.x = {3, 5, 5, 4}, .kernel = {1, 1, 4, 4}, .window = {.strides = {2, 2}}},
          {.x = {2, 1, 1, 4}, .kernel = {1, 1, 4, 4}, .window = {}, .same = true},
          {.x = {1, 1, 1, 4}, .kernel = {1, 1, 4, 1}},
          {.x = {3, 2, 3, 1}, .kernel = {2, 3, 1, 1}}};
}

inline constexpr testing::Tolerance of_convolutions(DType dtype) {
  if (is_half(dtype)) return dtype == DType::float16 ? testing::Tolerance{1e-2, 1e-2} : testing::Tolerance{1e-1, 4e-2};
  return dtype == DType::float64 ? testing::Tolerance{1e-12, 1e-12} : testing::Tolerance{1e-4, 1e-5};
}

}  // namespace etude::samples
