#include "etude/saving/hdf5/detail/hdf5_writer.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/utf8.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/hdf5/detail/hdf5_layout_writer.hpp"

namespace etude::hdf5 {
namespace {

void check_text(std::string_view text, const char* what, std::size_t most) {
  check(is_utf8(text) && text.find('\0') == text.npos && text.size() <= most, ErrorKind::value, "hdf5", what, " of ",
        text.size(), " bytes - expected UTF-8 without NUL bytes, at most ", most, " bytes - choose another.");
}

constexpr std::size_t text_limit = std::size_t{1} << 30, description_limit = 64'000, reference_size = 16;

}  // namespace

Writer::Writer() : root_(std::make_unique<WrittenNode>()) {}
Writer::~Writer() = default;

WrittenNode& Writer::node(std::string_view path) {
  check(head_.empty(), ErrorKind::internal, "hdf5", "\"", path,
        "\" is declared after the descriptions are complete - expected all declarations before - declare it earlier.");
  check(path.size() <= path_limit, ErrorKind::value, "hdf5", "a path of ", path.size(), " bytes - expected at most ",
        path_limit, " - choose shorter names.");
  WrittenNode* found = root_.get();
  for (std::size_t depth = 0; !path.empty(); ++depth) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty()) continue;
    check_text(name, "a name", name_limit);
    check(name != "." && name != ".." && depth < depth_limit && !found->is_dataset, ErrorKind::value, "hdf5", "\"",
          name, "\" in a path - expected at most ", depth_limit,
          " names, none of them \".\" or \"..\", and no dataset before the last one - choose another path.");
    std::unique_ptr<WrittenNode>& member = found->members[std::string(name)];
    if (!member) member = std::make_unique<WrittenNode>();
    found = member.get();
  }
  return *found;
}

void Writer::group(std::string_view path) {
  check(!node(path).is_dataset, ErrorKind::value, "hdf5", "\"", path,
        "\" is a dataset - expected a group - choose another path.");
}

void Writer::dataset(std::string_view path, Number number, const Shape& shape) {
  WrittenNode& made = node(path);
  check(&made != root_.get() && made.members.empty() && made.attributes.empty() && !made.is_dataset, ErrorKind::value,
        "hdf5", "\"", path, "\" exists - expected a new path - choose another.");
  made.is_dataset = true;
  made.number = number;
  made.shape = shape;
  datasets_.push_back(&made);
  if (number == Number::bfloat16) made.attributes.push_back({"dtype", {std::string(name_of(number))}, false});
}

void Writer::text(std::string_view path, std::string_view name, std::string value) {
  std::vector<std::string> values;
  values.push_back(std::move(value));
  add(path, name, std::move(values), false);
}

void Writer::texts(std::string_view path, std::string_view name, std::vector<std::string> values) {
  add(path, name, std::move(values), true);
}

void Writer::add(std::string_view path, std::string_view name, std::vector<std::string> values, bool list) {
  check_text(name, "the name of an attribute", name_limit);
  for (const std::string& value : values) check_text(value, "a text", text_limit);
  check(name.size() + reference_size * values.size() <= description_limit, ErrorKind::value, "hdf5", values.size(),
        " texts of the attribute \"", name, "\" - expected at most ", description_limit / reference_size,
        " - divide them.");
  std::vector<WrittenAttribute>& attributes = node(path).attributes;
  check(!name.empty() && std::ranges::find(attributes, name, &WrittenAttribute::name) == attributes.end(),
        ErrorKind::value, "hdf5", "a second attribute \"", name, "\" of \"", path,
        "\" - expected names that are unique and not empty - choose another.");
  attributes.push_back({std::string(name), std::move(values), list});
}

void Writer::lay_out() {
  if (!head_.empty()) return;
  head_ = head_of(*root_, datasets_);
  size_ = head_.size();
  for (const WrittenNode* dataset : datasets_) size_ += dataset->padded_bytes();
}

std::uint64_t Writer::size() {
  lay_out();
  return size_;
}

void Writer::start(std::function<void(std::string_view)> file) {
  check(file_ == nullptr, ErrorKind::internal, "hdf5",
        "the descriptions again - expected them once - write another file.");
  lay_out();
  file_ = std::move(file);
  file_(head_);
}

void Writer::append(std::span<const std::byte> bytes) {
  check(file_ != nullptr, ErrorKind::internal, "hdf5",
        "data before the descriptions - expected them first - write them.");
  while (!bytes.empty()) {
    while (current_ < datasets_.size() && datasets_[current_]->bytes() == 0) ++current_;
    check(current_ < datasets_.size(), ErrorKind::value, "hdf5", bytes.size(),
          " bytes after the data of the last dataset - expected none - declare another dataset.");
    const WrittenNode& dataset = *datasets_[current_];
    const auto piece =
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), dataset.bytes() - written_)));
    file_({reinterpret_cast<const char*>(piece.data()), piece.size()});
    bytes = bytes.subspan(piece.size());
    written_ += piece.size();
    if (written_ < dataset.bytes()) return;
    constexpr std::string_view padding("\0\0\0\0\0\0\0", 7);
    file_(padding.substr(0, static_cast<std::size_t>(dataset.padded_bytes() - written_)));
    written_ = 0;
    ++current_;
  }
}

void Writer::finish() {
  while (current_ < datasets_.size() && datasets_[current_]->bytes() == 0) ++current_;
  check(file_ != nullptr && current_ == datasets_.size(), ErrorKind::internal, "hdf5", "the end after the data of ",
        current_, " datasets - expected ", datasets_.size(), " - append the others.");
  file_ = nullptr;
}

}  // namespace etude::hdf5
