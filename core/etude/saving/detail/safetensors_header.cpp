#include "etude/saving/detail/safetensors_header.hpp"

#include <iterator>
#include <unordered_set>

#include "etude/base/error.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {
namespace {

/// An iterator over characters that records the parser's position.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Reading operator++(int) {
    Reading before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Reading& a, const Reading& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

/// Receives the header's parts from the parser: {name: {"dtype": …, "shape": […], "data_offsets": […]}}, and
/// {"__metadata__": {text: text}}. The parser prescribes the names of these functions.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : begin_(text.data()), at_(begin_), path_(path) {
    check(
        text.starts_with('{'), ErrorKind::data, "safetensors", '"', path,
        "\" has a header that does not begin with { at byte 8 - expected a JSON object - this is no safetensors file.");
    const char* end = begin_ + text.size();
    Json::sax_parse(Reading(begin_, &at_), Reading(end, &at_), this);
  }

  ParsedHeader result;

  bool start_object(std::size_t) {
    if (place_ == Place::nowhere) return go(Place::header);
    if (place_ != Place::header) wrong("an object within a tensor's entry");
    fields_.clear();
    if (name_ == metadata_key) return go(Place::metadata);
    if (result.tensors.size() == tensors_limit) wrong("more than a million tensors");
    result.tensors.emplace_back().name = name_;
    return go(Place::tensor);
  }
  bool end_object() {
    if (place_ == Place::header) return go(Place::nowhere);
    if (place_ == Place::tensor && fields_.size() != 3)
      wrong("\"" + name_ + "\" without \"dtype\", \"shape\" or \"data_offsets\"");
    return go(Place::header);
  }
  bool key(std::string& name) {
    if (name.size() > name_limit) wrong("a name of more than 4096 bytes");
    const bool is_new = (place_ == Place::header ? names_ : fields_).insert(name).second;
    if (!is_new) wrong("\"" + name + "\" twice");
    if (place_ == Place::tensor && name != "dtype" && name != "shape" && name != "data_offsets")
      wrong("\"" + name + "\" in a tensor's entry");
    (place_ == Place::header ? name_ : field_) = name;
    return true;
  }
  bool string(std::string& text) {
    if (place_ == Place::metadata) {
      result.metadata[field_] = text;
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") wrong("a text");
    result.tensors.back().dtype = text;
    return true;
  }
  bool start_array(std::size_t) {
    if (place_ != Place::tensor || field_ == "dtype") wrong("a list");
    numbers_.clear();
    return go(Place::list);
  }
  bool number_unsigned(std::uint64_t number) {
    if (place_ != Place::list) wrong("a number");
    if (numbers_.size() == rank_limit) wrong("a list of more than 8 numbers");
    numbers_.push_back(number);
    return true;
  }
  bool end_array() {
    TensorEntry& tensor = result.tensors.back();
    if (field_ == "shape") {
      tensor.shape = numbers_;
    } else {
      if (numbers_.size() != 2) wrong("\"data_offsets\" of " + std::to_string(numbers_.size()) + " numbers");
      tensor.begin = numbers_[0];
      tensor.end = numbers_[1];
    }
    return go(Place::tensor);
  }
  bool null() { wrong("null"); }
  bool boolean(bool) { wrong("a boolean"); }
  bool number_integer(std::int64_t) { wrong("a negative number"); }
  bool number_float(double, const std::string&) { wrong("a number that is not an integer, or too large"); }
  bool binary(Json::binary_t&) { wrong("bytes"); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) { wrong(reason_of(error)); }

 private:
  enum class Place { nowhere, header, metadata, tensor, list };

  bool go(Place place) {
    place_ = place;
    return true;
  }
  [[noreturn]] void wrong(const std::string& what) const {
    fail(ErrorKind::data, "safetensors", '"', path_, "\" has ", what, " before byte ", 8 + (at_ - begin_),
         " - expected {name: {\"dtype\", \"shape\", \"data_offsets\"}} and a \"__metadata__\" of texts - the file is "
         "damaged.");
  }

  const char *begin_, *at_;
  const std::string& path_;
  Place place_ = Place::nowhere;
  std::string name_, field_;
  std::unordered_set<std::string> names_, fields_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

ParsedHeader parse_safetensors_header(std::string_view text, const std::string& path) {
  return std::move(HeaderReader(text, path).result);
}

}  // namespace etude
