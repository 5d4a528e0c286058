#include "etude/layers/string_layer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"

namespace etude {

namespace {

void check_adapts(bool adapts, const std::string& where) {
  check(adapts, ErrorKind::state, where,
        "adapted although vocabulary is set - expected a layer without one - leave it out.");
}

}  // namespace

Value StringLayer::call(Value, bool) {
  fail(ErrorKind::value, where(),
       "called within a model or a step - expected strings, which are on the host - call it on them before the model, "
       "and pass its result to the model.");
}
Outputs StringLayer::call_with(const std::vector<Value>&, bool training) { return call({}, training); }

void VocabularyLayer::begin(VocabularyRules rules, const std::vector<std::string>& vocabulary,
                            const std::vector<double>& idf_weights) {
  vocabulary_ = Vocabulary(std::move(rules), where());
  adapts_ = vocabulary.empty();
  check(!adapts_ || idf_weights.empty(), ErrorKind::value, where(),
        "idf_weights without a vocabulary - expected both, or none - set vocabulary.");
  if (!adapts_) vocabulary_.set(vocabulary, idf_weights);
}

void VocabularyLayer::adapt(const Strings& data) {
  reset_state();
  // Each string of a list is a document.
  update_state(data.shape().rank() == 1 ? data.reshape({data.size(), 1}) : data);
  finalize_state();
}

void VocabularyLayer::reset_state() {
  check_adapts(adapts_, where());
  vocabulary_.reset_counts();
}

void VocabularyLayer::update_state(const Strings& batch) {
  check_adapts(adapts_, where());
  for (const std::vector<std::string>& row : tokens_of(batch).rows) vocabulary_.count(row);
}

void VocabularyLayer::finalize_state() {
  check_adapts(adapts_, where());
  vocabulary_.set_counted();
  keep(vocabulary_.tokens(), vocabulary_.token_weights());
}

void VocabularyLayer::set_vocabulary(std::vector<std::string> vocabulary, std::vector<double> idf_weights) {
  vocabulary_.set(vocabulary, idf_weights);
  keep(std::move(vocabulary), std::move(idf_weights));
}

std::vector<std::string> VocabularyLayer::get_vocabulary(bool include_special_tokens) const {
  std::vector<std::string> result;
  if (include_special_tokens) result.reserve(static_cast<std::size_t>(vocabulary_.first_known()));
  for (std::int64_t i = 0; include_special_tokens && i < vocabulary_.first_known(); ++i)
    result.push_back(vocabulary_.token_of(i));
  result.insert(result.end(), vocabulary_.tokens().begin(), vocabulary_.tokens().end());
  return result;
}

Strings VocabularyLayer::strings_of(const Tensor& indices) const {
  vocabulary_.check_set();
  check(!is_floating(indices.dtype()), ErrorKind::dtype, where(), "indices of dtype ", indices.dtype(),
        " - expected integers - convert them by astype().");
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < indices.size(); ++i)
    texts.push_back(vocabulary_.token_of(static_cast<std::int64_t>(indices.at(i))));
  return {indices.shape(), std::move(texts)};
}

const Strings& VocabularyLayer::texts_in(const std::vector<StringsOrTensor>& inputs) const {
  check(inputs.size() == 1 && std::holds_alternative<Strings>(inputs.front()), ErrorKind::value, where(),
        "called on numbers, or on several inputs - expected strings - pass them alone.");
  check(!vocabulary_.rules().invert, ErrorKind::value, where(),
        "called on strings although invert is set - expected indices - call strings_of(), or leave invert out.");
  vocabulary_.check_set();
  return std::get<Strings>(inputs.front());
}

Tensor VocabularyLayer::indices_of(const Tokens& tokens, std::optional<std::int64_t> length) const {
  const bool is_index = vocabulary_.mode() == categories::OutputMode::integer;
  std::size_t columns = tokens.columns;
  for (const std::vector<std::string>& row : tokens.rows) columns = std::max(columns, row.size());
  if (length) columns = static_cast<std::size_t>(*length);
  std::vector<std::int64_t> numbers;
  const std::int64_t count = checked::multiply(std::ssize(tokens.rows), static_cast<std::int64_t>(columns), where());
  if (static_cast<std::uint64_t>(count) > numbers.max_size()) throw std::bad_alloc();
  numbers.reserve(static_cast<std::size_t>(count));
  for (const std::vector<std::string>& row : tokens.rows) {
    for (std::size_t i = 0; i < std::min(row.size(), columns); ++i) numbers.push_back(vocabulary_.index_of(row[i]));
    numbers.resize(numbers.size() + columns - std::min(row.size(), columns), is_index ? 0 : -1);
  }
  Shape shape = tokens.lead;
  shape.append(static_cast<std::int64_t>(columns));
  return encoded_on_host(numbers, shape, vocabulary_.depth(), vocabulary_.mode(), compute_dtype(),
                         vocabulary_.weights());
}

}  // namespace etude
