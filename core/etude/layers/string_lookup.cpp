#include "etude/layers/string_lookup.hpp"

#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/text.hpp"

namespace etude {

StringLookup::StringLookup(StringLookupOptions given) : VocabularyLayer(class_entry<StringLookup>, std::move(given)) {
  const auto& o = described_options<StringLookupOptions>();
  categories::check_dense(o.sparse, where());
  text::check_encoding(o.encoding, where());
  begin({.max_tokens = o.max_tokens,
         .num_oov_indices = o.num_oov_indices,
         .mask_token = o.mask_token,
         .oov_token = o.oov_token,
         .invert = o.invert,
         .output_mode = o.output_mode,
         .pad_to_max_tokens = o.pad_to_max_tokens,
         .salt = o.salt},
        o.vocabulary, o.idf_weights);
}

Tokens StringLookup::tokens_of(const Strings& x) const { return text::rows_of(x); }

Tensor StringLookup::compute(const std::vector<StringsOrTensor>& inputs) const {
  const Strings& x = texts_in(inputs);
  const Tensor result = indices_of(tokens_of(x));
  return x.shape().rank() == 0 && result.dtype() == DType::int32 ? result.reshape({}) : result;
}

void StringLookup::keep(std::vector<std::string> vocabulary, std::vector<double> idf_weights) {
  StringLookupOptions options = described_options<StringLookupOptions>();
  options.vocabulary = std::move(vocabulary);
  options.idf_weights = std::move(idf_weights);
  describe({class_entry<StringLookup>, std::move(options)});
}

}  // namespace etude
