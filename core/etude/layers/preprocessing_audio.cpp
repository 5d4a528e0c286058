#include "etude/layers/preprocessing_audio.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 14;  // of the samples of a transform

/// x [rows, time] ⋆ kernel [frame, 1, filters]: [rows, frames, filters].
Value frames(Value x, Value kernel, std::int64_t step, const char* padding) {
  const std::int64_t rows = x.shape()[0], time = x.shape()[1], filters = kernel.shape()[2];
  const Window window =
      ops::padded({.extent = {1, kernel.shape()[0]}, .strides = {1, step}}, padding, {std::int64_t{1}, time});
  const Value y = ops::convolution(ops::reshape(x, {rows, 1, time, 1}),
                                   ops::reshape(kernel, {1, kernel.shape()[0], 1, filters}), window);
  return ops::reshape(y, {rows, y.shape()[2], filters});
}

}  // namespace

STFTSpectrogram::STFTSpectrogram(STFTSpectrogramOptions given)
    : Layer(class_entry<STFTSpectrogram>, std::move(given)), options_(described_options<STFTSpectrogramOptions>()) {
  const auto& o = options_;
  constexpr std::string_view modes[] = {"log", "magnitude", "psd", "real", "imag", "angle", "stft"};
  check(std::ranges::find(modes, o.mode) != std::end(modes), ErrorKind::value, where(), "mode = \"", o.mode,
        "\" - expected \"log\", \"magnitude\", \"psd\", \"real\", \"imag\", \"angle\" or \"stft\" - choose one.");
  check(o.padding == "valid" || o.padding == "same", ErrorKind::value, where(), "padding = \"", o.padding,
        "\" - expected \"valid\" or \"same\" - choose one.");
  is_channels_first(o.data_format, where());
  check(o.frame_length > 1 && o.frame_length <= most, ErrorKind::value, where(), "frame_length = ", o.frame_length,
        " - expected 2 to 2^14 - set frame_length.");
  step_ = o.frame_step.value_or(o.frame_length / 2);
  check(step_ > 0 && step_ <= o.frame_length, ErrorKind::value, where(), "frame_step = ", step_,
        " - expected 1 to frame_length - set frame_step.");
  const auto frame = static_cast<std::uint64_t>(o.frame_length);
  const std::int64_t length = o.fft_length.value_or(static_cast<std::int64_t>(std::bit_ceil(frame)));
  check(length >= o.frame_length && length <= most, ErrorKind::value, where(), "fft_length = ", length,
        " - expected frame_length to 2^14 - set fft_length.");
  frequencies_ = length / 2 + 1;
  // Throws for names that it does not know.
  initializers::stft({.window = o.window, .scaling = o.scaling});
}

void STFTSpectrogram::build(const Shape& input_shape) {
  check(input_shape.rank() == 3, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, time, channels] - add the axes that are missing.");
  const auto add = [&](const char* name, const char* side) {
    return add_weight(
        {.name = name,
         .shape = {options_.frame_length, 1, frequencies_},
         .initializer = initializers::stft(
             {.side = side, .window = options_.window, .scaling = options_.scaling, .periodic = options_.periodic})});
  };
  if (options_.mode != "imag") real_ = add("real_kernel", "real");
  if (options_.mode != "real") imag_ = add("imag_kernel", "imag");
}

/// [batch, channels, frames, frequencies].
Value STFTSpectrogram::part(Value x, const Variable& kernel) const {
  const std::int64_t batch = x.shape()[0], channels = x.shape()[1], time = x.shape()[2];
  const Value y =
      frames(ops::reshape(x, {batch * channels, time}), ops::upcast(value_of(kernel)), step_, options_.padding.c_str());
  return ops::reshape(y, {batch, channels, y.shape()[1], frequencies_});
}

Value STFTSpectrogram::output(Value real, Value imag) const {
  if (options_.mode == "real") return real;
  if (options_.mode == "imag") return imag;
  if (options_.mode == "angle") return ops::arctan2(imag, real);
  if (options_.mode == "stft") return ops::concatenate({real, imag}, -1);
  const Value power = ops::square(real) + ops::square(imag);
  if (options_.mode == "psd") {
    // The first and the last frequency occur once, all others twice.
    const Value middle = ops::slice(power, -1, 1, frequencies_ - 2) * 2;
    return ops::concatenate({ops::slice(power, -1, 0, 1), middle, ops::slice(power, -1, frequencies_ - 1, 1)}, -1);
  }
  const Value magnitude = ops::sqrt(ops::maximum(power, ops::scalar(epsilon(), power)));
  return options_.mode == "magnitude" ? magnitude
                                      : ops::log(ops::maximum(magnitude, ops::scalar(epsilon(), magnitude)));
}

Value STFTSpectrogram::call(Value x, bool) {
  const bool channels_first = options_.data_format == "channels_first";
  const DType dtype = compute_dtype();
  check(x.shape().rank() == 3 && is_floating(x.dtype()), ErrorKind::shape, where(), "input of shape ", x.shape(),
        " and ", x.dtype(), " - expected floats [batch, time, channels] - convert the data.");
  const std::int64_t time = x.shape()[channels_first ? 2 : 1];
  check(options_.padding == "same" || time >= options_.frame_length, ErrorKind::shape, where(), "sound of ", time,
        " samples - expected at least frame_length = ", options_.frame_length,
        " - set a smaller frame_length, or padding to \"same\".");
  x = ops::upcast(channels_first ? x : ops::transpose(x, {0, 2, 1}));
  Value y = output(real_ ? part(x, real_) : Value{}, imag_ ? part(x, imag_) : Value{});
  const std::int64_t batch = y.shape()[0], channels = y.shape()[1], count = y.shape()[2], bins = y.shape()[3];
  if (!channels_first && options_.expand_dims) y = ops::transpose(y, {0, 2, 3, 1});
  if (!channels_first && !options_.expand_dims)
    y = ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {batch, count, channels * bins});
  if (channels_first && !options_.expand_dims)
    y = ops::reshape(ops::transpose(y, {0, 1, 3, 2}), {batch, channels * bins, count});
  return ops::cast(y, dtype);
}

MelSpectrogram::MelSpectrogram(MelSpectrogramOptions given)
    : Layer(class_entry<MelSpectrogram>, std::move(given)), options_(described_options<MelSpectrogramOptions>()) {
  const auto& o = options_;
  check(o.fft_length > 1 && o.fft_length <= most && o.fft_length % 2 == 0, ErrorKind::value, where(),
        "fft_length = ", o.fft_length, " - expected an even number of 2 to 2^14 - set fft_length.");
  length_ = o.sequence_length.value_or(o.fft_length);
  check(length_ > 0 && length_ <= o.fft_length, ErrorKind::value, where(), "sequence_length = ", length_,
        " - expected 1 to fft_length - set sequence_length.");
  check(o.sequence_stride > 0 && o.sequence_stride <= most, ErrorKind::value, where(),
        "sequence_stride = ", o.sequence_stride, " - expected 1 to 2^14 - set sequence_stride.");
  check(!o.window || *o.window == "hann" || *o.window == "hamming", ErrorKind::value, where(), "window = \"",
        o.window.value_or(""), "\" - expected \"hann\", \"hamming\" or none - choose one.");
  check(o.num_mel_bins > 0 && o.num_mel_bins <= most && o.sampling_rate > 0, ErrorKind::value, where(),
        "num_mel_bins = ", o.num_mel_bins, ", sampling_rate = ", o.sampling_rate,
        " - expected positive numbers, and at most 2^14 bins - set both.");
  const double high = o.max_freq.value_or(static_cast<double>(o.sampling_rate / 2));
  check(o.min_freq >= 0 && o.min_freq < high && std::isfinite(high), ErrorKind::value, where(),
        "min_freq = ", o.min_freq, ", max_freq = ", high, " - expected 0 or more, and a larger max_freq - set both.");
  check(o.min_power > 0, ErrorKind::value, where(), "min_power = ", o.min_power,
        " - expected a positive number - set min_power.");
}

namespace {

double mel_of(double hertz) { return 1127.0 * std::log(1 + hertz / 700); }

/// The weights [frequencies, mel bins] of triangles in the mel scale.
Tensor mel_weights(const MelSpectrogramOptions& o, DType dtype) {
  const std::int64_t frequencies = o.fft_length / 2 + 1;
  const double nyquist = static_cast<double>(o.sampling_rate) / 2;
  const double low = mel_of(o.min_freq), high = mel_of(o.max_freq.value_or(static_cast<double>(o.sampling_rate / 2)));
  const auto edge = [&](std::int64_t i) {
    return low + (high - low) * static_cast<double>(i) / static_cast<double>(o.num_mel_bins + 1);
  };
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(frequencies * o.num_mel_bins));
  for (std::int64_t k = 0; k < frequencies; ++k) {
    const double mel = mel_of(nyquist * static_cast<double>(k) / static_cast<double>(frequencies - 1));
    for (std::int64_t i = 0; i < o.num_mel_bins; ++i) {
      const double rise = (mel - edge(i)) / (edge(i + 1) - edge(i));
      const double fall = (edge(i + 2) - mel) / (edge(i + 2) - edge(i + 1));
      weights.push_back(k == 0 ? 0 : std::max(0.0, std::min(rise, fall)));
    }
  }
  return Tensor::from<double>({frequencies, o.num_mel_bins}, weights).astype(dtype);
}

}  // namespace

void MelSpectrogram::build(const Shape& input_shape) {
  check(input_shape.rank() == 1 || input_shape.rank() == 2, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [time] or [batch, time] - reshape the data.");
  check_length(input_shape[-1]);
  // Both tables follow from the options, so they are no weights.
  const auto table = [&](const char* what, const Tensor& numbers) {
    Variable variable(name() + '/' + what, numbers, false);
    variable.set_managed();
    return variable;
  };
  const std::int64_t frequencies = options_.fft_length / 2 + 1;
  const auto side = [&](const char* name) {
    const auto initializer =
        initializers::stft({.side = name, .window = options_.window, .scaling = {}, .periodic = true});
    return (*initializer)({length_, 1, frequencies}, variable_dtype());
  };
  const Tensor real = side("real"), imag = side("imag");
  Tensor both = Tensor::uninitialized({length_, 1, 2 * frequencies}, real.dtype());
  const std::size_t row = static_cast<std::size_t>(frequencies) * size_of(real.dtype());
  for (std::size_t t = 0; t < static_cast<std::size_t>(length_); ++t) {
    std::copy_n(real.raw() + t * row, row, both.raw() + 2 * t * row);
    std::copy_n(imag.raw() + t * row, row, both.raw() + (2 * t + 1) * row);
  }
  kernel_ = table("kernel", both);
  bins_ = table("bins", mel_weights(options_, variable_dtype()));
}

void MelSpectrogram::check_length(std::int64_t time) const {
  check(time > options_.fft_length / 2, ErrorKind::shape, where(), "sound of ", time, " samples - expected more than ",
        options_.fft_length / 2, ", half of fft_length - set a smaller fft_length.");
}

Value MelSpectrogram::call(Value x, bool) {
  const auto& o = options_;
  const bool is_single = x.shape().rank() == 1;
  const DType dtype = compute_dtype();
  x = ops::upcast(is_floating(x.dtype()) ? x : ops::cast(x, dtype));
  if (is_single) x = ops::expand_dims(x, 0);
  const std::int64_t margin = o.fft_length / 2, time = x.shape()[1], before = (o.fft_length - length_) / 2;
  check_length(time);
  x = ops::concatenate(
      {ops::reverse(ops::slice(x, 1, 1, margin), 1), x, ops::reverse(ops::slice(x, 1, time - 1 - margin, margin), 1)},
      1);
  // Frames are the middle of sequences of fft_length samples; where they begin does not change magnitudes.
  x = ops::slice(x, 1, before, time + 2 * margin - o.fft_length + length_);
  Graph& graph = Graph::current();
  const Value parts = ops::square(frames(x, graph.read(kernel_), o.sequence_stride, "valid"));
  const std::int64_t frequencies = margin + 1;
  Value y = ops::slice(parts, -1, 0, frequencies) + ops::slice(parts, -1, frequencies, frequencies);
  if (o.mag_exp != 2) y = ops::power(ops::sqrt(y), ops::scalar(o.mag_exp, y));
  y = ops::matmul(y, graph.read(bins_));
  if (o.power_to_db) y = decibels(y);
  y = ops::cast(ops::transpose(y, {0, 2, 1}), dtype);
  return is_single ? ops::squeeze(y, 0) : y;
}

Value MelSpectrogram::decibels(Value power) const {
  constexpr double per_log = 10 / 2.302585092994046;  // 10 / log(10)
  const double reference = per_log * std::log(std::max(std::abs(options_.ref_power), options_.min_power));
  const Value y = ops::log(ops::maximum(power, ops::scalar(options_.min_power, power))) * per_log - reference;
  return ops::maximum(y, ops::max(y, {1, 2}, true) - options_.top_db);
}

}  // namespace etude
