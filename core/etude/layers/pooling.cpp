#include "etude/layers/pooling.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/data_format.hpp"
#include "etude/layers/windowed.hpp"
#include "etude/ops/pooling.hpp"

namespace etude {

MaxPooling2D::MaxPooling2D(MaxPooling2DOptions options)
    : Layer(class_entry<MaxPooling2D>, std::move(options)),
      options_(described_options<MaxPooling2DOptions>()),
      channels_first_(is_channels_first(options_.data_format, where())) {
  windowed::check_positive("pool_size", options_.pool_size, where());
  if (options_.strides) windowed::check_positive("strides", *options_.strides, where());
  windowed::check_padding(options_.padding, where());
  cast_integers();
}

Value MaxPooling2D::call(Value x, bool) {
  windowed::check_rank(x.shape(), channels_first_, where());
  x = windowed::channels_last(x, channels_first_);
  const Window window = windowed::window(
      {.extent = options_.pool_size.numbers(), .strides = options_.strides.value_or(options_.pool_size).numbers()},
      options_.padding, x.shape(), where());
  return windowed::back(ops::max_pool(x, window), channels_first_);
}

}  // namespace etude
