#include "etude/data/csv.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/vfs.hpp"
#include "etude/data/detail/dataset_stages.hpp"

namespace etude {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Removes spaces at both ends.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class FilePieces : public ByteSource {
 public:
  explicit FilePieces(const std::string& path) : path_(path), file_(std::fopen(system_path(path, "read"), "rb")) {
    check(file_ != nullptr, ErrorKind::io, "read_csv", '"', path, "\" cannot be read: ", std::strerror(errno),
          " - expected an existing, readable file - check the path.");
  }
  std::optional<std::vector<std::byte>> consume() override {
    std::vector<std::byte> piece(std::size_t{1} << 16);
    piece.resize(std::fread(piece.data(), 1, piece.size(), file_.get()));
    check(!std::ferror(file_.get()), ErrorKind::io, "read_csv", '"', path_, "\" cannot be read: ", std::strerror(errno),
          " - expected a readable file - check the disk.");
    return piece.empty() ? std::nullopt : std::optional(std::move(piece));
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, FileCloser> file_;
};

/// The elements of a CSV text in pieces.
class CsvSource : public BatchSource {
 public:
  CsvSource(std::unique_ptr<ByteSource> pieces, const CsvOptions& options, const std::string& where)
      : pieces_(std::move(pieces)), reader_(options, where) {}
  PendingPtr fetch() override { return started(read()); }
  std::optional<Batch> consume() override { return std::exchange(element_, {}); }

 private:
  Task<> read() {
    for (;;) {
      element_ = reader_.next();
      if (element_ || ended_) co_return;
      if (PendingPtr pending = pieces_->fetch()) co_await std::move(pending);
      const std::optional<std::vector<std::byte>> piece = pieces_->consume();
      ended_ = !piece;
      if (piece)
        reader_.add(*piece);
      else
        reader_.finish();
    }
  }

  std::unique_ptr<ByteSource> pieces_;
  CsvReader reader_;
  std::optional<Batch> element_;
  bool ended_ = false;
};

}  // namespace

CsvReader::CsvReader(CsvOptions options, std::string where) : options_(std::move(options)), where_(std::move(where)) {
  check(options_.delimiter.size() == 1, ErrorKind::value, where_, "delimiter = \"", options_.delimiter,
        "\" - expected one character - pass \",\" or \";\", for example.");
  check(options_.class_names.empty() || !options_.label.empty(), ErrorKind::value, where_,
        "class_names without a label - expected the column of the classes - set `label`.");
}

void CsvReader::add(std::span<const std::byte> bytes) {
  text_.erase(0, std::exchange(at_, 0));
  text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool CsvReader::read_line() {
  if (lines_ == 0 && !in_line_) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    if (!finished_ && text_.size() < mark.size()) return false;
    if (at_ == 0 && text_.starts_with(mark)) at_ = mark.size();
  }
  while (at_ < text_.size()) {
    if (std::exchange(behind_cr_, false) && text_[at_] == '\n') {
      ++at_;
      continue;
    }
    if (!std::exchange(in_line_, true)) {
      fields_.assign(1, {});
      blank_ = true;
      line_ = lines_ + 1;
    }
    if (quoted_) {
      if (!read_quoted_character()) return false;
    } else if (read_character()) {
      in_line_ = false;
      return true;
    }
  }
  if (!finished_ || !in_line_) return false;
  check(!quoted_, ErrorKind::data, where_, "line ", line_,
        " has an unclosed quote - expected a complete file - get it again.");
  in_line_ = false;
  return true;
}

bool CsvReader::read_character() {
  std::string& field = fields_.back();
  const char c = text_[at_++];
  if (c == '\n' || c == '\r') {
    behind_cr_ = c == '\r';
    ++lines_;
    return true;
  }
  if (c == '"' && blank_) {
    field.clear();
    quoted_ = true;
  } else if (c == options_.delimiter.front()) {
    fields_.emplace_back();
    blank_ = true;
  } else {
    append(c);
  }
  return false;
}

void CsvReader::append(char c) {
  fields_.back() += c;
  blank_ = blank_ && is_blank(c);
}

/// Returns false if it is unknown yet whether another quote follows.
bool CsvReader::read_quoted_character() {
  const char c = text_[at_];
  const bool last = at_ + 1 == text_.size();
  if (c == '"' && last && !finished_) return false;
  ++at_;
  if (c == '\n') ++lines_;
  if (c != '"') {
    append(c);
  } else if (!last && text_[at_] == '"') {
    append(text_[at_++]);
  } else {
    quoted_ = false;
  }
  return true;
}

std::optional<Batch> CsvReader::next() {
  do {
    if (!read_line()) return {};
    if (fields_.size() == 1 && trimmed(fields_.front()).empty()) {
      fields_.clear();
      continue;
    }
    if (!begun_) read_header();
  } while (fields_.empty());
  check(fields_.size() == names_.size(), ErrorKind::data, where_, "line ", line_, " has ", fields_.size(),
        " fields - expected ", names_.size(), " as in the first line - check the file.");
  Batch element{{Tensor(Shape{std::ssize(inputs_)})}, {}, {}};
  const std::span<float> x = element.x[0].data<float>();
  for (std::size_t i = 0; i < inputs_.size(); ++i) x[i] = number(inputs_[i]);
  if (label_) element.y.push_back(Tensor::from<float>(Shape{1}, {label_of_line()}));
  return element;
}

void CsvReader::read_header() {
  begun_ = true;
  for (std::size_t i = 0; i < fields_.size(); ++i)
    names_.push_back(options_.header ? std::string(trimmed(fields_[i])) : std::to_string(i));
  if (!options_.label.empty()) label_ = column_called(options_.label);
  for (const std::string& name : options_.columns) inputs_.push_back(column_called(name));
  if (options_.columns.empty())
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (i != label_) inputs_.push_back(i);
  if (options_.header) fields_.clear();
}

std::size_t CsvReader::column_called(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    std::string known;
    for (const std::string& each : names_) known += (known.empty() ? "" : ", ") + each;
    fail(ErrorKind::value, where_, "column \"", name, "\" - expected one of: ", known, " - check the name.");
  }
  return static_cast<std::size_t>(found - names_.begin());
}

float CsvReader::number(std::size_t column) const {
  const std::string_view text = trimmed(fields_[column]);
  if (text.empty() && options_.missing) return static_cast<float>(*options_.missing);
  const std::optional<float> value = parse_float(text);
  if (!value) fail_at(column, text);
  return *value;
}

float CsvReader::label_of_line() const {
  if (options_.class_names.empty()) return number(*label_);
  const std::string_view text = trimmed(fields_[*label_]);
  const auto found = std::ranges::find(options_.class_names, text);
  if (found == options_.class_names.end()) fail_at(*label_, text);
  return static_cast<float>(found - options_.class_names.begin());
}

/// The advice depends on the use of the column.
void CsvReader::fail_at(std::size_t column, std::string_view text) const {
  const bool is_label = label_ == column;
  std::string expected = "a number", hint;
  if (text.empty()) {
    hint = "give empty fields a value by `missing`, or exclude the column by `columns`";
  } else if (is_label && !options_.class_names.empty()) {
    expected = "one of the class names:";
    for (const std::string& name : options_.class_names) expected += " \"" + name + '"';
    hint = spelled("add it to `class_names`, or correct the line");
  } else if (is_label) {
    hint = spelled("list the label texts in `class_names`, to convert them to 0, 1, …");
  } else {
    hint = "exclude the column by `columns`";
    if (!label_)
      hint += spelled(", or, if the model shall predict it, set it as `label` and list its texts in `class_names`");
  }
  fail(ErrorKind::data, where_, "line ", line_, ", column \"", names_[column], "\": \"", text.substr(0, 40),
       "\" - expected ", expected, " - ", hint, '.');
}

Dataset csv_dataset(std::function<std::unique_ptr<ByteSource>()> open, const CsvOptions& options, bool asynchronous,
                    const std::string& where) {
  return Dataset(stages::sources(
      [open = std::move(open), options, where]() -> std::unique_ptr<BatchSource> {
        return std::make_unique<CsvSource>(open(), options, where);
      },
      asynchronous));
}

Dataset read_csv(const std::string& path, const CsvOptions& options) {
  return csv_dataset([path]() -> std::unique_ptr<ByteSource> { return std::make_unique<FilePieces>(path); }, options,
                     false, path);
}

}  // namespace etude
