#include "scaling.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "clock.hpp"
#include "measure.hpp"

namespace {

struct Size {
  std::int64_t batch, width;
  int depth;
};

/// The CPU time of a step, and the time of its trace and compilation, in milliseconds.
struct Times {
  double step, compile;
};

etude::Tensor filled(const etude::Shape& shape) {
  etude::Tensor result(shape);
  float next = 0.5F;
  for (float& element : result.data<float>()) element = next = 3.7F * next * (1 - next);  // chaotic, never denormal
  return result;
}

/// Trains `depth` Dense layers of `width` units inside fit, as users do. The additional time of the first step is that
/// of the trace, the differentiation, the fusion and the memory plan, without building the layers' weights.
Times measure(const Size& size) {
  std::vector<etude::LayerPtr> layers;
  for (int i = 0; i < size.depth; ++i)
    layers.push_back(etude::layers::dense({.units = static_cast<int>(size.width), .activation = "relu"}));
  etude::Sequential model(layers);
  model.compile({.optimizer = "rmsprop", .loss = "mse"});
  model.build({size.batch, size.width});
  const double flops = 6.0 * static_cast<double>(size.batch * size.width * size.width * size.depth);
  const auto steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(4e9 / flops), 8, 2000);
  const etude::Tensor x = filled({size.batch, size.width});
  const auto stopwatch = std::make_shared<Stopwatch>(steps, 4);
  model.fit(x, x,
            {.batch_size = size.batch,
             .epochs = static_cast<int>(steps),
             .verbose = 0,
             .callbacks = {stopwatch},
             .shuffle = false});
  return {1e3 * stopwatch->cpu_per_step(), 1e3 * (stopwatch->first() - quantile(stopwatch->laps, 0.5))};
}

/// One table: sizes that double from row to row, and the ratio of each step's time to the previous one.
void print_table(const char* what, std::int64_t from, std::int64_t to, Size (*size_of)(std::int64_t)) {
  std::printf("\n%-8s %14s %10s %10s %20s\n", what, "CPU ms/step", "growth", "GFLOP/s", "trace+compile ms");
  double before = 0;
  for (std::int64_t value = from; value <= to; value *= 2) {
    const Size size = size_of(value);
    const Times times = measure(size);
    const double flops = 6.0 * static_cast<double>(size.batch * size.width * size.width * size.depth);
    std::printf("%-8lld %14.4g %10.3g %10.3g %20.3g\n", static_cast<long long>(value), times.step,
                before > 0 ? times.step / before : 1.0, 1e-6 * flops / times.step, times.compile);
    std::fflush(stdout);
    before = times.step;
  }
}

}  // namespace

void print_scaling() {
  std::printf("Dense layers, relu, RMSprop, inside fit; %s, %d thread%s. Growth: times the row before.\n",
              target_name(), etude::num_threads(), etude::num_threads() == 1 ? "" : "s");
  std::printf("trace+compile: how much longer the first step takes than the median one.\n");
  print_table("batch", 32, 4096, [](std::int64_t batch) { return Size{batch, 256, 2}; });
  print_table("width", 64, 4096, [](std::int64_t width) { return Size{128, width, 2}; });
  print_table("depth", 1, 64, [](std::int64_t depth) { return Size{32, 64, static_cast<int>(depth)}; });
}
