#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/classes/field.hpp"
#include "etude/data/dataset.hpp"

/// Functions that make arrays of equal length from sequences, and windows from time series.
namespace etude::utils {

/// Options of pad_sequences.
struct PadSequencesOptions {
  /// The length of all rows. Default: that of the longest sequence.
  std::optional<std::int64_t> maxlen = {};
  /// The dtype of the result.
  std::string dtype = "int32";
  /// The end that is padded, "pre" or "post".
  std::string padding = "pre";
  /// The end of longer sequences that is removed, "pre" or "post".
  std::string truncating = "pre";
  /// The number that fills shorter sequences.
  double value = 0;

  template <class O = PadSequencesOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::maxlen>("Length of all rows. Default: that of the longest sequence."),
        option<&O::dtype>("Dtype of the result."),
        option<&O::padding>("Where shorter sequences are padded: \"pre\", in front, or \"post\"."),
        option<&O::truncating>("Where longer sequences are cut: \"pre\", at their beginning, or \"post\"."),
        option<&O::value>("Number that fills shorter sequences."));
  }
};

/// Sequences [steps, ..] of any lengths as rows of one tensor, [sequences, maxlen, ..]. Throws Error(data) for
/// sequences whose steps have different shapes, Error(value) for other options. Source:
/// keras/src/utils/sequence_utils.py.
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});
/// The same for lists of numbers.
Tensor pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences, const PadSequencesOptions& options = {});

/// Options of timeseries_dataset_from_array.
struct TimeseriesOptions {
  /// The steps of each window.
  std::int64_t sequence_length = 0;
  /// Steps from the beginning of one window to that of the next.
  std::int64_t sequence_stride = 1;
  /// Steps from one step of a window to the next.
  std::int64_t sampling_rate = 1;
  /// Windows per batch; none: an element is one window.
  std::optional<std::int64_t> batch_size = 128;
  /// Whether each iteration has the windows in another random order.
  bool shuffle = false;
  /// The seed of the order.
  std::optional<std::int64_t> seed = {};
  /// The first step that is used, and the step before which the windows end.
  std::optional<std::int64_t> start_index = {}, end_index = {};

  template <class O = TimeseriesOptions> static constexpr auto fields() {
    return option_rows(option<&O::sequence_length>("Steps of each window.", Need::required),
                       option<&O::sequence_stride>("Steps from the beginning of a window to that of the next."),
                       option<&O::sampling_rate>("Steps from one step of a window to the next."),
                       option<&O::batch_size>("Windows per batch; null for single windows. Default: 128."),
                       option<&O::shuffle>("Whether each iteration has the windows in another random order."),
                       option<&O::seed>("Seed of the order. Default: derived from the global seed."),
                       option<&O::start_index>("First step that is used. Default: 0."),
                       option<&O::end_index>("Step before which the last window ends. Default: the end."));
  }
};

/// Windows of `data` [steps, ..], each with the entry of `targets` at the step at which the window begins: batches of x
/// [windows, sequence_length, ..] and y [windows, ..]. Throws Error(value) for options that data of this length does
/// not allow, and if there is no complete window. Source: keras/src/utils/timeseries_dataset_utils.py.
Dataset timeseries_dataset_from_array(const Tensor& data, const std::optional<Tensor>& targets,
                                      const TimeseriesOptions& options);

/// Options of skipgrams.
struct SkipgramsOptions {
  /// The largest distance, in words, between the words of a couple.
  std::int64_t window_size = 4;
  /// Random couples for each couple of the sequence.
  double negative_samples = 1;
  /// Whether the couples are in a random order.
  bool shuffle = true;
  /// Whether labels are one-hot.
  bool categorical = false;
  /// For each word the probability that its couples are made; empty: 1.
  std::vector<double> sampling_table = {};
  /// The seed of all draws.
  std::optional<std::int64_t> seed = {};

  template <class O = SkipgramsOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::window_size>("Largest distance, in words, between the words of a couple."),
        option<&O::negative_samples>("Random couples for each couple of the sequence."),
        option<&O::shuffle>("Whether the couples are in a random order."),
        option<&O::categorical>("Whether labels are one-hot rows instead of 0 and 1."),
        option<&O::sampling_table>("Probability that a word is used, by its number. Default: all are used."),
        option<&O::seed>("Seed of the draws. Default: derived from the global seed."));
  }
};

/// The result of skipgrams: couples of words, int32 [couples, 2], and labels, int32 [couples], or [couples, 2] if they
/// are categorical.
struct Skipgrams {
  /// The words of each couple, and 1 for a couple of the sequence or 0 for a random one.
  Tensor couples, labels;
};

/// Couples (word, neighbour) of a sequence of word numbers, with label 1, and random couples with label 0. Word 0 is
/// padding, and is skipped. Throws Error(value) for words that are not in the vocabulary. Source:
/// keras/src/legacy/preprocessing/sequence.py.
Skipgrams skipgrams(const Tensor& sequence, std::int64_t vocabulary_size, const SkipgramsOptions& options = {});

/// The probability with which skipgrams should use each word, by its rank in frequency: frequent words have lower ones.
/// Assumes Zipf's law. Source: keras/src/legacy/preprocessing/sequence.py.
std::vector<double> make_sampling_table(std::int64_t size, double sampling_factor = 1e-5);

}  // namespace etude::utils
