#include "etude/layers/hashing.hpp"

#include <limits>
#include <utility>

#include "etude/base/detail/hashes.hpp"
#include "etude/base/error.hpp"

namespace etude {
namespace {

/// Keras's dtype of bins is an integer; here it is always int32.
template <class Options> Options without_integer_dtype(Options options) {
  if (options.output_mode == "int" && options.dtype.starts_with("int")) options.dtype.clear();
  return options;
}

void check_bins(std::int64_t bins, const std::string& where) {
  check(bins > 0 && bins <= std::numeric_limits<std::int32_t>::max(), ErrorKind::value, where, "num_bins = ", bins,
        " - expected 1 or more, and less than 2^31 - set num_bins.");
}

const Shape& shape_of(const StringsOrTensor& input) {
  return std::visit([](const auto& x) -> const Shape& { return x.shape(); }, input);
}

std::int64_t integer_in(const Tensor& x, std::int64_t i, const std::string& where) {
  const double number = x.at(i);
  check(number > -0x1p63 && number < 0x1p63, ErrorKind::data, where, "the number ", number,
        " - expected finite numbers of the range of int64 - check the data.");
  return static_cast<std::int64_t>(number);
}

}  // namespace

Hashing::Hashing(HashingOptions given) : StringLayer(class_entry<Hashing>, without_integer_dtype(std::move(given))) {
  const auto& o = described_options<HashingOptions>();
  check_bins(o.num_bins, where());
  check_salt(o.salt, where());
  categories::output_mode_of(o.output_mode, true, where());
  categories::check_dense(o.sparse, where());
}

std::int64_t Hashing::bin_without_mask(const std::string& text, bool is_mask) const {
  const auto& o = described_options<HashingOptions>();
  const bool has_mask = (o.mask_value.text() || o.mask_value.number()) && o.num_bins > 1;
  if (!has_mask) return bin_of(text, o.num_bins, o.salt);
  return is_mask ? 0 : bin_of(text, o.num_bins - 1, o.salt) + 1;
}

Tensor Hashing::compute(const std::vector<StringsOrTensor>& inputs) const {
  const auto& o = described_options<HashingOptions>();
  check(inputs.size() == 1, ErrorKind::value, where(), "called on ", inputs.size(),
        " inputs - expected one input - pass it without a list.");
  const auto* strings = std::get_if<Strings>(&inputs.front());
  check(!(strings ? o.mask_value.number().has_value() : o.mask_value.text().has_value()), ErrorKind::value, where(),
        strings ? "strings with a mask_value that is a number" : "numbers with a mask_value that is a string",
        " - expected both of one kind - set mask_value.");
  std::vector<std::int64_t> bins;
  if (strings) {
    for (const std::string& text : strings->texts())
      bins.push_back(bin_without_mask(text, text == o.mask_value.text()));
  } else {
    const Tensor& x = std::get<Tensor>(inputs.front());
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t number = integer_in(x, i, where());
      const bool is_mask = o.mask_value.number() && x.at(i) == static_cast<double>(*o.mask_value.number());
      const std::string text = x.dtype() == DType::boolean ? (number ? "true" : "false") : std::to_string(number);
      bins.push_back(bin_without_mask(text, is_mask));
    }
  }
  return encoded_on_host(bins, shape_of(inputs.front()), o.num_bins,
                         categories::output_mode_of(o.output_mode, true, where()), compute_dtype());
}

HashedCrossing::HashedCrossing(HashedCrossingOptions given)
    : StringLayer(class_entry<HashedCrossing>, without_integer_dtype(std::move(given))) {
  const auto& o = described_options<HashedCrossingOptions>();
  check_bins(o.num_bins, where());
  check(o.output_mode == "int" || o.output_mode == "one_hot", ErrorKind::value, where(), "output_mode = \"",
        o.output_mode, "\" - expected \"int\" or \"one_hot\" - choose one.");
  categories::check_dense(o.sparse, where());
}

Tensor HashedCrossing::compute(const std::vector<StringsOrTensor>& inputs) const {
  const auto& o = described_options<HashedCrossingOptions>();
  check(inputs.size() > 1, ErrorKind::value, where(), "called on ", inputs.size(),
        " features - expected two or more - pass a list of them.");
  const Shape& shape = shape_of(inputs.front());
  check(shape.rank() < 2 || (shape.rank() == 2 && shape[-1] == 1), ErrorKind::shape, where(), "features of shape ",
        shape, " - expected [], [batch] or [batch, 1] - reshape them.");
  // The key, and the order of the features, are TensorFlow's: tensorflow/python/ops/sparse_ops.py.
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(shape.size()), 0xDECAFCAFFE);
  for (const StringsOrTensor& input : inputs) {
    check(shape_of(input) == shape, ErrorKind::shape, where(), "features of the shapes ", shape, " and ",
          shape_of(input), " - expected equal shapes - reshape them.");
    const auto* strings = std::get_if<Strings>(&input);
    const Tensor* numbers = std::get_if<Tensor>(&input);
    check(strings || !is_floating(numbers->dtype()), ErrorKind::dtype, where(),
          "a feature of floats - expected strings or integers - convert it by astype().");
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const std::uint64_t feature =
          strings ? fingerprint64(strings->texts()[i])
                  : static_cast<std::uint64_t>(integer_in(*numbers, static_cast<std::int64_t>(i), where()));
      hashes[i] = concatenated_fingerprints(hashes[i], feature);
    }
  }
  std::vector<std::int64_t> bins;
  for (const std::uint64_t hash : hashes)
    bins.push_back(static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(o.num_bins)));
  return encoded_on_host(bins, shape, o.num_bins, categories::output_mode_of(o.output_mode, true, where()),
                         compute_dtype());
}

}  // namespace etude
