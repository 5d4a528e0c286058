#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct STFTSpectrogramOptions {
  std::string mode = "log";
  std::int64_t frame_length = 256;
  std::optional<std::int64_t> frame_step = {}, fft_length = {};
  std::optional<std::string> window = "hann";
  bool periodic = false;
  std::optional<std::string> scaling = "density";
  std::string padding = "valid";
  bool expand_dims = false;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = STFTSpectrogramOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::mode>("\"log\": logarithms of magnitudes; \"magnitude\"; \"psd\": power spectral densities; "
                         "\"real\"; \"imag\"; \"angle\": phases from -pi to pi; \"stft\": both parts."),
        option<&O::frame_length>("Number of samples of a frame."),
        option<&O::frame_step>("Number of samples between two frames. Default: half a frame."),
        option<&O::fft_length>("Length of the Fourier transform. Default: the least power of 2 of at least "
                               "frame_length."),
        option<&O::window>("Window of a frame, as in the initializer STFT; null: none."),
        option<&O::periodic>("Whether the window continues after the frame: its last value is omitted."),
        option<&O::scaling>("Norm of the window that becomes 1: \"density\" or \"spectrum\"; null: no scaling."),
        option<&O::padding>("\"valid\": none; \"same\": zeros around the samples."),
        option<&O::expand_dims>("Whether frequencies have an axis of their own."),
        option<&O::data_format>("\"channels_last\" or \"channels_first\"."), layer_fields<O>());
  }
};

/// Spectrograms of sound [batch, time, channels]: [batch, frames, channels · frequencies], or with expand_dims [batch,
/// frames, frequencies, channels]; with channels_first [batch, channels · frequencies, frames] or [batch, channels,
/// frames, frequencies]. There are fft_length / 2 + 1 frequencies, twice as many with mode "stft". The transform is a
/// convolution with the weights real_kernel and imag_kernel [frame_length, 1, frequencies], which are trained. Throws
/// Error(value) for unknown names and numbers out of range, Error(shape) for inputs of other ranks. Source:
/// keras/src/layers/preprocessing/stft_spectrogram.py.
class STFTSpectrogram : public Layer {
 public:
  using Options = STFTSpectrogramOptions;
  static constexpr ClassText about{"STFTSpectrogram",
                                   "Spectrograms of sound: [batch, time, channels] -> [batch, frames, frequencies]."};
  explicit STFTSpectrogram(STFTSpectrogramOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  Value part(Value x, const Variable& kernel) const;
  Value output(Value real, Value imag) const;

  const STFTSpectrogramOptions& options_;
  std::int64_t step_ = 0, frequencies_ = 0;
  Variable real_, imag_;
};

struct MelSpectrogramOptions {
  std::int64_t fft_length = 2048, sequence_stride = 512;
  std::optional<std::int64_t> sequence_length = {};
  std::optional<std::string> window = "hann";
  std::int64_t sampling_rate = 16000, num_mel_bins = 128;
  double min_freq = 20;
  std::optional<double> max_freq = {};
  bool power_to_db = true;
  double top_db = 80, mag_exp = 2, min_power = 1e-10, ref_power = 1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = MelSpectrogramOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::fft_length>("Length of the Fourier transform, an even number."),
        option<&O::sequence_stride>("Number of samples between two frames."),
        option<&O::sequence_length>("Number of samples of a frame. Default: fft_length."),
        option<&O::window>("Window of a frame: \"hann\" or \"hamming\"; null: none."),
        option<&O::sampling_rate>("Samples per second."), option<&O::num_mel_bins>("Number of mel bins."),
        option<&O::min_freq>("Lower edge of the first bin, in Hz."),
        option<&O::max_freq>("Upper edge of the last bin, in Hz. Default: half of sampling_rate."),
        option<&O::power_to_db>("Whether powers are in decibels."),
        option<&O::top_db>("Decibels below the largest of a sample that are the least ones."),
        option<&O::mag_exp>("Exponent of the magnitudes: 2 for powers."), option<&O::min_power>("The least power."),
        option<&O::ref_power>("The power of 0 decibels."), layer_fields<O>());
  }
};

/// Mel spectrograms of sound [time] or [batch, time]: [.., mel bins, frames]. A frame is centered at a multiple of
/// sequence_stride; sound is reflected at its ends. Throws Error(value) for unknown names and numbers out of range,
/// Error(shape) for sound of half of fft_length or less. Source:
/// keras/src/layers/preprocessing/mel_spectrogram.py; there the least decibels are those below the largest of the
/// batch.
class MelSpectrogram : public Layer {
 public:
  using Options = MelSpectrogramOptions;
  static constexpr ClassText about{"MelSpectrogram",
                                   "Mel spectrograms of sound: [batch, time] -> [batch, mel bins, frames]."};
  explicit MelSpectrogram(MelSpectrogramOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  Value decibels(Value power) const;
  void check_length(std::int64_t time) const;

  const MelSpectrogramOptions& options_;
  std::int64_t length_ = 0;
  Variable kernel_, bins_;
};

namespace layers {
inline constexpr Factory<STFTSpectrogram> stft_spectrogram;
inline constexpr Factory<MelSpectrogram> mel_spectrogram;
}  // namespace layers

}  // namespace etude
