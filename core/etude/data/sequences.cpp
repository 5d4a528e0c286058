#include "etude/data/sequences.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"

namespace etude::utils {
namespace {

/// Whether an option says "pre" rather than "post".
bool is_pre(const char* name, const std::string& given) {
  check(given == "pre" || given == "post", ErrorKind::value, "utils.pad_sequences", name, " = \"", given,
        "\" - expected \"pre\" or \"post\" - choose one.");
  return given == "pre";
}

}  // namespace

Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options) {
  constexpr const char* where = "utils.pad_sequences";
  const bool pads_front = is_pre("padding", options.padding), cuts_front = is_pre("truncating", options.truncating);
  const DType dtype = dtype_from_name(options.dtype);
  Shape step;
  std::int64_t longest = 0;
  for (const Tensor& sequence : sequences) {
    check(sequence.shape().rank() > 0, ErrorKind::data, where,
          "a number in place of a sequence - expected [steps, ..] - put it into a list.");
    if (longest == 0 && sequence.shape()[0] > 0) step = sequence.shape().without(0);
    longest = std::max(longest, sequence.shape()[0]);
  }
  const std::int64_t length = options.maxlen.value_or(longest);
  check(length >= 0, ErrorKind::value, where, "maxlen = ", length, " - expected 0 or more - set maxlen.");
  Tensor result = Tensor::uninitialized(step.with(0, length).with(0, std::ssize(sequences)), dtype);
  const std::vector<double> padding(static_cast<std::size_t>(step.size()), options.value);
  const std::size_t bytes = padding.size() * size_of(dtype);
  std::byte* out = result.raw();
  for (const Tensor& sequence : sequences) {
    const std::int64_t steps = sequence.shape()[0], used = std::min(steps, length);
    check(steps == 0 || sequence.shape().without(0) == step, ErrorKind::data, where, "a sequence of shape ",
          sequence.shape(), " after steps of shape ", step, " - expected steps of one shape - check the sequences.");
    const auto pad = [&](std::int64_t count) {
      for (; count > 0; --count, out += bytes) write_numbers(padding, dtype, out);
    };
    if (pads_front) pad(length - used);
    if (used > 0) {
      const std::int64_t first = cuts_front ? steps - used : 0;
      const Tensor kept = sequence.rows(first, first + used).astype(dtype);
      if (kept.bytes()) std::memcpy(out, kept.raw(), kept.bytes());
      out += kept.bytes();
    }
    if (!pads_front) pad(length - used);
  }
  return result;
}

Tensor pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences, const PadSequencesOptions& options) {
  std::vector<Tensor> tensors;
  for (const auto& sequence : sequences)
    tensors.push_back(Tensor::from<std::int32_t>({std::ssize(sequence)}, sequence));
  return pad_sequences(tensors, options);
}

namespace {

constexpr const char* timeseries = "utils.timeseries_dataset_from_array";

/// The windows that begin at step 0, sequence_stride, .. of `data`, by the number of that step.
struct Windows {
  Tensor data, targets;
  std::int64_t length, rate;

  Batch operator()(const Batch& element) const {
    const auto begin = static_cast<std::int64_t>(element.x.front().item());
    Shape shape = data.shape();
    shape[0] = length;
    Tensor window = Tensor::uninitialized(shape, data.dtype());
    const std::size_t bytes = length ? window.bytes() / static_cast<std::size_t>(length) : 0;
    for (std::int64_t i = 0; i < length && bytes; ++i)
      std::memcpy(window.raw() + static_cast<std::size_t>(i) * bytes,
                  data.raw() + static_cast<std::size_t>(begin + i * rate) * bytes, bytes);
    Batch result{{std::move(window)}, {}, {}};
    if (targets) result.y.push_back(targets.rows(begin, begin + 1).reshape(targets.shape().without(0)));
    return result;
  }
};

void check_below(const char* name, std::int64_t number, std::int64_t least, std::int64_t steps) {
  check(number >= least && number < steps, ErrorKind::value, timeseries, name, " = ", number, " for data of ", steps,
        " steps - expected ", least, " or more, and less than the steps - set ", name, '.');
}

}  // namespace

Dataset timeseries_dataset_from_array(const Tensor& data, const std::optional<Tensor>& targets,
                                      const TimeseriesOptions& options) {
  check(data.shape().rank() > 0 && (!targets || targets->shape().rank() > 0), ErrorKind::shape, timeseries,
        "a scalar - expected [steps, ..] - pass an array of steps.");
  const std::int64_t steps = data.shape()[0], length = options.sequence_length, rate = options.sampling_rate;
  const std::int64_t begin = options.start_index.value_or(0), end = options.end_index.value_or(steps);
  if (options.start_index) check_below("start_index", begin, 0, steps);
  if (options.end_index) check_below("end_index", end, begin + 1, steps);
  check_below("sampling_rate", rate, 1, steps);
  check_below("sequence_stride", options.sequence_stride, 1, steps);
  check(length > 0 && length <= steps, ErrorKind::value, timeseries, "sequence_length = ", length, " for data of ",
        steps, " steps - expected 1 or more, and not more than the steps - set sequence_length.");
  std::int64_t windows = checked::subtract(end - begin, checked::multiply(length - 1, rate, timeseries), timeseries);
  check(windows > 0, ErrorKind::value, timeseries, "windows of ", length, " steps, every ", rate, " of them, in ",
        end - begin, " steps - expected a window to fit - use a smaller sequence_length or sampling_rate.");
  Windows make{data.rows(begin, end), {}, length, rate};
  if (targets) {
    const std::int64_t entries = targets->shape()[0];
    check(entries > begin, ErrorKind::value, timeseries, entries, " targets for windows from step ", begin,
          " on - expected one for each step at which a window begins - pass more targets.");
    make.targets = targets->rows(begin, entries);
    windows = std::min(windows, entries - begin);
  }
  Dataset dataset = Dataset::range(0, windows, options.sequence_stride);
  if (options.shuffle) {
    const auto seed = options.seed ? static_cast<std::uint64_t>(*options.seed) : random_seed();
    dataset = dataset.shuffle(dataset.cardinality(), {.seed = seed});
  }
  dataset = dataset.map(std::move(make));
  return options.batch_size ? dataset.batch(*options.batch_size) : dataset;
}

Skipgrams skipgrams(const Tensor& sequence, std::int64_t vocabulary_size, const SkipgramsOptions& options) {
  constexpr const char* where = "utils.skipgrams";
  check(sequence.shape().rank() == 1, ErrorKind::shape, where, "a sequence of shape ", sequence.shape(),
        " - expected [words] - pass one sequence.");
  check(vocabulary_size > 1 && vocabulary_size <= std::int64_t{1} << 31, ErrorKind::value, where,
        "vocabulary_size = ", vocabulary_size, " - expected 2 or more, and at most 2^31 - set vocabulary_size.");
  check(options.negative_samples >= 0 && options.negative_samples < 0x1p31, ErrorKind::value, where,
        "negative_samples = ", options.negative_samples, " - expected 0 or more - set negative_samples.");
  check(options.window_size >= 0, ErrorKind::value, where, "window_size = ", options.window_size,
        " - expected 0 or more - set window_size.");
  const std::vector<double>& table = options.sampling_table;
  const std::int64_t words = sequence.size(), reach = std::min(options.window_size, words);
  const auto word = [&](std::int64_t i) {
    const double number = sequence.at(i);
    check(number >= 0 && number < static_cast<double>(vocabulary_size) && number == std::floor(number),
          ErrorKind::value, where, "the word ", number, " - expected a whole number of 0 or more, and less than ",
          vocabulary_size, " - check the sequence, or vocabulary_size.");
    return static_cast<std::int32_t>(number);
  };
  Random random(options.seed ? static_cast<std::uint64_t>(*options.seed) : random_seed(), RandomStream::shuffle,
                options.seed ? 0 : next_random_stream());
  std::vector<std::pair<std::int32_t, std::int32_t>> couples;
  for (std::int64_t i = 0; i < words; ++i) {
    const std::int32_t here = word(i);
    if (here == 0) continue;
    const auto at = static_cast<std::size_t>(here);
    check(table.empty() || at < table.size(), ErrorKind::value, where, "the word ", here, " for a sampling_table of ",
          table.size(), " words - expected a probability for each word - pass a larger table.");
    if (!table.empty() && table[at] < static_cast<double>(random.uniform())) continue;
    for (std::int64_t j = std::max<std::int64_t>(0, i - reach); j < std::min(words, i + reach + 1); ++j)
      if (const std::int32_t there = j == i ? 0 : word(j)) couples.emplace_back(here, there);
  }
  const std::size_t positive = couples.size();
  const auto negative = static_cast<std::size_t>(static_cast<double>(positive) * options.negative_samples);
  const auto shuffle = [&](std::vector<std::uint32_t>& order) {
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
  };
  const auto numbers = [](std::size_t count) {
    std::vector<std::uint32_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    return order;
  };
  std::vector<std::uint32_t> order = numbers(positive);
  shuffle(order);
  for (std::size_t i = 0; i < negative; ++i)
    couples.emplace_back(couples[order[i % positive]].first,
                         1 + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary_size - 1))));
  order = numbers(couples.size());
  if (options.shuffle) shuffle(order);

  const std::int64_t count = std::ssize(couples);
  Skipgrams result{Tensor({count, 2}, DType::int32),
                   Tensor(options.categorical ? Shape{count, 2} : Shape{count}, DType::int32)};
  const auto pairs = result.couples.data<std::int32_t>(), labels = result.labels.data<std::int32_t>();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_positive = order[i] < positive;
    pairs[2 * i] = couples[order[i]].first;
    pairs[2 * i + 1] = couples[order[i]].second;
    if (options.categorical)
      labels[2 * i + is_positive] = 1;
    else
      labels[i] = is_positive;
  }
  return result;
}

std::vector<double> make_sampling_table(std::int64_t size, double sampling_factor) {
  constexpr const char* where = "utils.make_sampling_table";
  check(size > 0 && sampling_factor > 0, ErrorKind::value, where, "size = ", size,
        ", sampling_factor = ", sampling_factor, " - expected positive numbers - set them.");
  constexpr double gamma = 0.577;
  std::vector<double> table;
  if (static_cast<std::uint64_t>(size) > table.max_size()) throw std::bad_alloc();
  table.resize(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double rank = std::max(static_cast<double>(i), 1.0);
    const double frequency = rank * (std::log(rank) + gamma) + 0.5 - 1 / (12 * rank);
    table[i] = std::min(1.0, std::sqrt(sampling_factor * frequency));
  }
  return table;
}

}  // namespace etude::utils
