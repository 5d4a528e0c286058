#include "etude/layers/preprocessing_lookup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/categories.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"

namespace etude {

IntegerLookup::IntegerLookup(IntegerLookupOptions given)
    : PreprocessingLayer(class_entry<IntegerLookup>, std::move(given)) {
  const IntegerLookupOptions& o = options();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto is_int32 = [](std::int64_t number) { return number == static_cast<std::int32_t>(number); };
  adapts_ = o.vocabulary.empty();
  check(o.num_oov_indices >= 0 && o.num_oov_indices <= most, ErrorKind::value, where(),
        "num_oov_indices = ", o.num_oov_indices, " - expected 0 or more, and less than 2^31 - set num_oov_indices.");
  check(!o.max_tokens || (*o.max_tokens > first_known() && *o.max_tokens <= most), ErrorKind::value, where(),
        "max_tokens = ", o.max_tokens.value_or(0), " - expected more than the ", first_known(),
        " indices of mask and unknown integers, and less than 2^31 - set max_tokens.");
  check(!o.pad_to_max_tokens || o.max_tokens, ErrorKind::value, where(),
        "pad_to_max_tokens without max_tokens - expected both - set max_tokens.");
  check(o.vocabulary_dtype == "int64" && o.oov_method == "floormod", ErrorKind::value, where(), "vocabulary_dtype = \"",
        o.vocabulary_dtype, "\", oov_method = \"", o.oov_method,
        "\" - expected \"int64\" and \"floormod\" - leave them out.");
  const categories::OutputMode mode = categories::output_mode_of(encoding(), true, where());
  check(!o.invert || mode == categories::OutputMode::integer, ErrorKind::value, where(), "invert with output_mode = \"",
        o.output_mode, "\" - expected \"int\" - leave output_mode out.");
  categories::check_dense(o.sparse, where());
  check(std::ranges::all_of(o.vocabulary, is_int32) && is_int32(o.oov_token) && is_int32(o.mask_token.value_or(0)),
        ErrorKind::value, where(), "integers beyond int32 - expected those of its range - use others.");
  keep_input_dtype();
  if (!adapts_) set_vocabulary();
}

std::int64_t IntegerLookup::first_unknown() const {
  return options().mask_token && options().output_mode == "int" ? 1 : 0;
}

/// Makes the tables from the options. They are no weights, because the config has the vocabulary.
void IntegerLookup::set_vocabulary() {
  std::vector<std::int64_t> tokens = options().vocabulary;
  std::vector<double> weights = options().idf_weights;
  check(weights.size() == (weighted() ? tokens.size() : 0), ErrorKind::value, where(), weights.size(),
        " idf_weights of ", tokens.size(), " integers with output_mode = \"", options().output_mode,
        "\" - expected one for each integer if it is \"tf_idf\", else none - set idf_weights.");
  std::vector<double> special_weights;
  // The vocabulary may begin with the tokens of mask and unknown integers.
  const auto special = static_cast<std::size_t>(first_known());
  if (tokens.size() >= special) {
    const auto begin = tokens.begin(), unknown = begin + static_cast<std::ptrdiff_t>(first_unknown()),
               end = begin + static_cast<std::ptrdiff_t>(special);
    const bool has_mask = std::all_of(begin, unknown, [&](auto token) { return token == options().mask_token; });
    const bool has_unknown = std::all_of(unknown, end, [&](auto token) { return token == options().oov_token; });
    if (has_mask && has_unknown) {
      tokens.erase(begin, end);
      const auto first = weights.begin(), last = first + (weighted() ? static_cast<std::ptrdiff_t>(special) : 0);
      special_weights.assign(first, last);
      weights.erase(first, last);
    }
  }
  const auto reserved = std::ranges::find_if(tokens, [&](std::int64_t token) {
    return token == options().mask_token || (options().invert && token == options().oov_token);
  });
  check(
      reserved == tokens.end(), ErrorKind::value, where(), "the integer ", reserved == tokens.end() ? 0 : *reserved,
      " of mask or unknown integers inside the vocabulary - expected it at its beginning, or not at all - remove it.");
  std::vector<std::int32_t> known, order(tokens.size()), sorted;
  for (const std::int64_t token : tokens) known.push_back(static_cast<std::int32_t>(token));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int32_t i) { return known[static_cast<std::size_t>(i)]; });
  for (const std::int32_t i : order) sorted.push_back(known[static_cast<std::size_t>(i)]);
  const auto repeated = std::ranges::adjacent_find(sorted);
  check(!sorted.empty() && repeated == sorted.end(), ErrorKind::value, where(), "a vocabulary ",
        sorted.empty() ? "without integers" : "that has an integer twice",
        " - expected different integers - set vocabulary.");
  const std::int64_t size = first_known() + std::ssize(sorted);
  check(size <= std::numeric_limits<std::int32_t>::max(), ErrorKind::value, where(), size,
        " indices - expected less than 2^31 - lower num_oov_indices.");
  check(!options().max_tokens || size <= *options().max_tokens, ErrorKind::value, where(), size,
        " indices of the vocabulary and of mask and unknown integers - expected at most max_tokens = ",
        options().max_tokens.value_or(0), " - set a larger one.");
  const auto table = [&](const char* what, const std::vector<std::int32_t>& numbers) {
    Variable variable(name() + '/' + what, Tensor::from<std::int32_t>({std::ssize(numbers)}, numbers), false);
    variable.set_managed();
    return variable;
  };
  tokens_ = table("tokens", known);
  sorted_ = table("sorted", sorted);
  indices_ = table("indices", order);
  if (!weighted()) return;
  // Unknown integers without a weight have the mean of all; indices beyond the vocabulary have 0.
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  special_weights.resize(special, mean);
  std::vector<float> row(special_weights.begin(), special_weights.end());
  row.insert(row.end(), weights.begin(), weights.end());
  row.resize(static_cast<std::size_t>(depth()));
  weights_ = Variable(name() + "/idf_weights", Tensor::from<float>({std::ssize(row)}, row), false);
  weights_.set_managed();
}

Value IntegerLookup::call(Value x, bool) {
  check(static_cast<bool>(tokens_), ErrorKind::state, where(),
        "called before adapt() - expected a vocabulary - adapt the layer to data, or set vocabulary.");
  x = ops::cast(x, DType::int32);
  if (options().invert) return token_of(x);
  const Value row =
      categories::encoded(index_of(x), depth(), categories::output_mode_of(encoding(), true, where()), compute_dtype());
  return weighted() ? row * ops::cast(Graph::current().read(weights_), row.dtype()) : row;
}

namespace {

Value number(std::int64_t of) { return Graph::current().constant(static_cast<double>(of), DType::int32); }

/// x modulo n, from 0 on. float32 does not hold every int32, so the first quotient may be some units off.
Value modulo(Value x, std::int64_t n) {
  for (int i = 0; i < 2; ++i) {
    const Value quotient = ops::floor(ops::cast(x, DType::float32) / static_cast<double>(n));
    x = x - ops::cast(quotient, DType::int32) * number(n);
  }
  return x;
}

}  // namespace

std::optional<Tensor> IntegerLookup::idf_weights() const {
  return weighted() && !options().vocabulary.empty() ? std::optional(weights_.value()) : std::nullopt;
}

Value IntegerLookup::index_of(Value token) const {
  Graph& graph = Graph::current();
  const Value place = ops::maximum(categories::count_up_to(graph.read(sorted_), token) - number(1), number(0));
  const Value is_known = ops::equal(ops::take(graph.read(sorted_), place), token);
  const std::int64_t unknown = options().num_oov_indices;
  const Value other = unknown == 0   ? number(-1)
                      : unknown == 1 ? number(first_unknown())
                                     : modulo(token, unknown) + number(first_unknown());
  const Value index = ops::where(is_known, ops::take(graph.read(indices_), place) + number(first_known()), other);
  if (!options().mask_token) return index;
  // A row of an encoding has no entry for the mask.
  return ops::where(ops::equal(token, number(*options().mask_token)), number(options().output_mode == "int" ? 0 : -1),
                    index);
}

Value IntegerLookup::token_of(Value index) const {
  const std::int64_t last = tokens_.size() - 1;
  const Value place = index - number(first_known());
  const Value is_known = ops::logical_and(ops::less_equal(number(0), place), ops::less_equal(place, number(last)));
  const Value inside = ops::minimum(ops::maximum(place, number(0)), number(last));
  const Value token =
      ops::where(is_known, ops::take(Graph::current().read(tokens_), inside), number(options().oov_token));
  if (!options().mask_token) return token;
  return ops::where(ops::equal(index, number(0)), number(*options().mask_token), token);
}

void IntegerLookup::reset_state() {
  check(adapts_, ErrorKind::state, where(),
        "adapted although vocabulary is set - expected a layer without one - leave it out.");
  counts_.clear();
  documents_ = 0;
}

void IntegerLookup::update_state(const Tensor& batch) {
  const std::int64_t documents = batch.shape().rank() > 1 ? batch.shape()[0] : 1;
  const std::int64_t length = batch.size() / std::max<std::int64_t>(documents, 1);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const double token = batch.at(i);
    check(token == std::floor(token) && std::abs(token) < 0x1p31, ErrorKind::data, where(), "the number ", token,
          " - expected integers of the range of int32 - check the data.");
    Count& count = counts_[static_cast<std::int32_t>(token)];
    const std::int64_t document = documents_ + 1 + i / length;
    ++count.tokens;
    if (std::exchange(count.last_document, document) != document) ++count.documents;
  }
  documents_ += documents;
}

void IntegerLookup::finalize_state() {
  IntegerLookupOptions options = this->options();
  counts_.erase(static_cast<std::int32_t>(options.oov_token));
  if (options.mask_token) counts_.erase(static_cast<std::int32_t>(*options.mask_token));
  check(!counts_.empty(), ErrorKind::data, where(), "adapted to no data - expected an integer - check the data.");
  std::vector<std::pair<std::int64_t, std::int32_t>> by_count;
  for (const auto& [token, count] : counts_) by_count.emplace_back(count.tokens, token);
  std::ranges::sort(by_count, std::ranges::greater{});
  if (options.max_tokens)
    by_count.resize(std::min(by_count.size(), static_cast<std::size_t>(*options.max_tokens - first_known())));
  options.vocabulary.clear();
  options.idf_weights.clear();
  for (const auto& [count, token] : by_count) {
    options.vocabulary.push_back(token);
    const double all = static_cast<double>(documents_), with = static_cast<double>(counts_[token].documents);
    if (weighted()) options.idf_weights.push_back(static_cast<float>(std::log(1 + all / (1 + with))));
  }
  counts_.clear();
  documents_ = 0;
  describe({class_entry<IntegerLookup>, std::move(options)});
  set_vocabulary();
}

std::int64_t IntegerLookup::vocabulary_size() const { return first_known() + (tokens_ ? tokens_.size() : 0); }

std::vector<std::int64_t> IntegerLookup::get_vocabulary(bool include_special_tokens) const {
  std::vector<std::int64_t> result;
  if (include_special_tokens) {
    result.assign(static_cast<std::size_t>(first_known()), options().oov_token);
    if (first_unknown() > 0) result.front() = *options().mask_token;
  }
  const Tensor tokens = tokens_ ? tokens_.value() : Tensor({0}, DType::int32);
  for (const std::int32_t token : tokens.data<std::int32_t>()) result.push_back(token);
  return result;
}

}  // namespace etude
