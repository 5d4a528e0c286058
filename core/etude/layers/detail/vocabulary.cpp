#include "etude/layers/detail/vocabulary.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "etude/base/detail/hashes.hpp"
#include "etude/base/error.hpp"

namespace etude {

using categories::OutputMode;

namespace {
constexpr std::int64_t most_indices = std::numeric_limits<std::int32_t>::max();
}  // namespace

Tensor encoded_on_host(std::span<const std::int64_t> numbers, const Shape& shape, std::int64_t depth, OutputMode mode,
                       DType dtype, std::span<const float> weights) {
  if (mode == OutputMode::integer) {
    Tensor result = Tensor::uninitialized(shape, DType::int32);
    std::ranges::transform(numbers, result.data<std::int32_t>().begin(),
                           [](std::int64_t number) { return static_cast<std::int32_t>(number); });
    return result;
  }
  const bool one_hot = mode == OutputMode::one_hot;
  // Axis 1 has the categories of a sample, as in categories::encoded.
  const bool is_single = shape.rank() < 2;
  const std::int64_t columns = is_single ? shape.size() : shape[1];
  const std::int64_t inner = is_single ? 1 : shape.slice(2, shape.rank()).size();
  Shape result_shape = is_single ? Shape{} : shape.without(1);
  if (one_hot) {
    result_shape = shape.rank() == 0 ? Shape{1} : shape;
    if (!is_single && shape[-1] == 1) result_shape = shape.without(-1);
  }
  result_shape.append(depth);
  Tensor result(result_shape, DType::float32);
  const std::span<float> entries = result.data<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t row = one_hot ? at : at / (columns * inner) * inner + at % inner;
    float& entry = entries[static_cast<std::size_t>(row * depth + numbers[i])];
    entry = mode == OutputMode::count ? entry + 1 : 1;
  }
  for (std::size_t i = 0; !weights.empty() && i < entries.size(); ++i)
    entries[i] *= weights[i % static_cast<std::size_t>(depth)];
  return result.astype(dtype);
}

std::int64_t bin_of(const std::string& text, std::int64_t bins, const Integers& salt) {
  const auto key = [&](std::size_t i) {
    return static_cast<std::uint64_t>(salt.all()[std::min(i, salt.all().size() - 1)]);
  };
  const std::uint64_t hash = salt.empty() ? fingerprint64(text) : sip_hash(text, key(0), key(1));
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(bins));
}

void check_salt(const Integers& salt, const std::string& where) {
  check(salt.all().size() < 3, ErrorKind::value, where, "salt = ", salt,
        " - expected one number, or two - pass as many.");
}

Vocabulary::Vocabulary(VocabularyRules rules, std::string where)
    : rules_(std::move(rules)),
      where_(std::move(where)),
      mode_(rules_.output_mode == "tf_idf" ? OutputMode::count
                                           : categories::output_mode_of(rules_.output_mode, true, where_)) {
  check(rules_.num_oov_indices >= 0 && rules_.num_oov_indices <= most_indices, ErrorKind::value, where_,
        "num_oov_indices = ", rules_.num_oov_indices,
        " - expected 0 or more, and less than 2^31 - set num_oov_indices.");
  check(!rules_.max_tokens || (*rules_.max_tokens > first_known() && *rules_.max_tokens <= most_indices),
        ErrorKind::value, where_, "max_tokens = ", rules_.max_tokens.value_or(0), " - expected more than the ",
        first_known(), " indices of mask and unknown tokens, and less than 2^31 - set max_tokens.");
  check(!rules_.pad_to_max_tokens || rules_.max_tokens, ErrorKind::value, where_,
        "pad_to_max_tokens without max_tokens - expected both - set max_tokens.");
  check(!rules_.invert || rules_.output_mode == "int", ErrorKind::value, where_, "invert with output_mode = \"",
        rules_.output_mode, "\" - expected \"int\" - leave output_mode out.");
  check_salt(rules_.salt, where_);
}

const std::string& Vocabulary::special_token(std::int64_t index) const {
  return has_mask_index() && index == 0 ? *rules_.mask_token : rules_.oov_token;
}

void Vocabulary::set(std::vector<std::string> tokens, const std::vector<double>& idf_weights) {
  const bool weighted = rules_.output_mode == "tf_idf";
  check(idf_weights.size() == (weighted ? tokens.size() : 0), ErrorKind::value, where_, idf_weights.size(),
        " idf_weights of ", tokens.size(), " tokens with output_mode = \"", rules_.output_mode,
        "\" - expected one for each token if it is \"tf_idf\", else none - set idf_weights.");
  // The vocabulary may begin with the tokens of mask and unknown ones.
  bool has_special = std::ssize(tokens) >= first_known();
  for (std::int64_t i = 0; has_special && i < first_known(); ++i)
    has_special = tokens[static_cast<std::size_t>(i)] == special_token(i);
  const std::ptrdiff_t skipped = has_special ? static_cast<std::ptrdiff_t>(first_known()) : 0;
  tokens.erase(tokens.begin(), tokens.begin() + skipped);
  check(!tokens.empty(), ErrorKind::value, where_, "a vocabulary without tokens - expected some - set vocabulary.");
  std::unordered_map<std::string, std::int64_t> indices;
  for (const std::string& token : tokens) {
    const bool is_special =
        (rules_.mask_token && token == *rules_.mask_token) || (rules_.invert && token == rules_.oov_token);
    check(!is_special, ErrorKind::value, where_, "the token \"", token,
          "\" of mask or unknown tokens inside the vocabulary - expected it at its beginning, or not at all - remove "
          "it.");
    check(indices.emplace(token, first_known() + std::ssize(indices)).second, ErrorKind::value, where_, "the token \"",
          token, "\" twice in the vocabulary - expected different tokens - remove one.");
  }
  const std::int64_t size = first_known() + std::ssize(tokens), most = rules_.max_tokens.value_or(most_indices);
  check(size <= most, ErrorKind::value, where_, size,
        " indices of the vocabulary and of mask and unknown tokens - expected at most max_tokens = ", most,
        " - set a larger one.");
  tokens_ = std::move(tokens);
  indices_ = std::move(indices);
  special_weights_.clear();
  token_weights_.clear();
  if (!weighted) return;
  special_weights_.assign(idf_weights.begin(), idf_weights.begin() + skipped);
  token_weights_.assign(idf_weights.begin() + skipped, idf_weights.end());
}

std::vector<float> Vocabulary::weights() const {
  if (token_weights_.empty()) return {};
  // Unknown tokens without a weight have the mean of all; indices beyond the vocabulary have 0.
  const double sum = std::accumulate(token_weights_.begin(), token_weights_.end(), 0.0);
  std::vector<float> result = special_weights_;
  result.resize(static_cast<std::size_t>(first_known()),
                static_cast<float>(sum / static_cast<double>(token_weights_.size())));
  result.insert(result.end(), token_weights_.begin(), token_weights_.end());
  result.resize(static_cast<std::size_t>(depth()));
  return result;
}

void Vocabulary::check_set() const {
  check(!tokens_.empty(), ErrorKind::state, where_,
        "called before adapt() - expected a vocabulary - adapt the layer to data, or set vocabulary.");
}

std::int64_t Vocabulary::index_of(const std::string& token) const {
  if (rules_.mask_token && token == *rules_.mask_token) return has_mask_index() ? 0 : -1;
  const auto found = indices_.find(token);
  if (found != indices_.end()) return found->second;
  check(rules_.num_oov_indices > 0, ErrorKind::data, where_, "the token \"", token,
        "\", which is not in the vocabulary - expected tokens of it, because others have no index - set "
        "num_oov_indices to 1.");
  return first_unknown() + (rules_.num_oov_indices == 1 ? 0 : bin_of(token, rules_.num_oov_indices, rules_.salt));
}

const std::string& Vocabulary::token_of(std::int64_t index) const {
  if (has_mask_index() && index == 0) return *rules_.mask_token;
  const bool is_known = index >= first_known() && index < size();
  return is_known ? tokens_[static_cast<std::size_t>(index - first_known())] : rules_.oov_token;
}

void Vocabulary::reset_counts() {
  counts_.clear();
  documents_ = 0;
}

void Vocabulary::count(std::span<const std::string> document) {
  ++documents_;
  for (const std::string& token : document) {
    Count& count = counts_[token];
    ++count.tokens;
    if (std::exchange(count.last_document, documents_) != documents_) ++count.documents;
  }
}

void Vocabulary::set_counted() {
  if (rules_.mask_token) counts_.erase(*rules_.mask_token);
  counts_.erase(rules_.oov_token);
  check(!counts_.empty(), ErrorKind::data, where_, "adapted to no tokens - expected some - check the data.");
  using Counted = std::pair<const std::string, Count>;
  std::vector<const Counted*> order;
  for (const Counted& each : counts_) order.push_back(&each);
  std::ranges::sort(order, [](const Counted* a, const Counted* b) {
    return a->second.tokens != b->second.tokens ? a->second.tokens > b->second.tokens : a->first > b->first;
  });
  if (rules_.max_tokens)
    order.resize(std::min(order.size(), static_cast<std::size_t>(*rules_.max_tokens - first_known())));
  std::vector<std::string> tokens;
  std::vector<double> weights;
  for (const Counted* each : order) {
    tokens.push_back(each->first);
    if (rules_.output_mode != "tf_idf") continue;
    const double all = static_cast<double>(documents_), with = static_cast<double>(each->second.documents);
    weights.push_back(static_cast<float>(std::log(1 + all / (1 + with))));
  }
  reset_counts();
  set(std::move(tokens), weights);
}

}  // namespace etude
