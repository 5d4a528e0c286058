#include "etude/data/csv.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/dataset_stages.hpp"

namespace etude {
namespace {

/// Drops spaces at both ends.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class FilePieces : public ByteSource {
 public:
  explicit FilePieces(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    check(file_ != nullptr, ErrorKind::io, "read_csv", '"', path, "\" cannot be read: ", std::strerror(errno),
          " - expected a file that exists and may be read - check the path.");
  }
  std::optional<std::vector<std::byte>> take() override {
    std::vector<std::byte> piece(std::size_t{1} << 16);
    piece.resize(std::fread(piece.data(), 1, piece.size(), file_.get()));
    check(!std::ferror(file_.get()), ErrorKind::io, "read_csv", '"', path_, "\" cannot be read: ", std::strerror(errno),
          " - expected a file that may be read to its end - check the disk.");
    return piece.empty() ? std::nullopt : std::optional(std::move(piece));
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, FileCloser> file_;
};

/// The elements of pieces.
class CsvSource : public BatchSource {
 public:
  CsvSource(std::unique_ptr<ByteSource> pieces, const CsvOptions& options, const std::string& where)
      : pieces_(std::move(pieces)), reader_(options, where) {}
  PendingPtr fetch() override { return started(read()); }
  std::optional<Batch> take() override { return std::exchange(element_, {}); }

 private:
  Task<> read() {
    for (;;) {
      element_ = reader_.next();
      if (element_ || ended_) co_return;
      if (PendingPtr pending = pieces_->fetch()) co_await std::move(pending);
      const std::optional<std::vector<std::byte>> piece = pieces_->take();
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
        "\" - expected one character - such as \",\" or \";\".");
}

void CsvReader::add(std::span<const std::byte> bytes) {
  text_.erase(0, std::exchange(at_, 0));
  text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool CsvReader::read_line() {
  fields_.assign(1, {});
  bool quoted = false;
  for (std::size_t i = at_; i < text_.size(); ++i) {
    const char c = text_[i];
    std::string& field = fields_.back();
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 == text_.size() && !finished_)
        return false;  // whether another quote follows is not known yet
      else if (i + 1 < text_.size() && text_[i + 1] == '"')
        field += text_[++i];
      else
        quoted = false;
    } else if (c == '"' && trimmed(field).empty()) {
      field.clear();
      quoted = true;
    } else if (c == options_.delimiter.front()) {
      fields_.emplace_back();
    } else if (c == '\n') {
      if (!field.empty() && field.back() == '\r') field.pop_back();
      at_ = i + 1;
      ++line_;
      return true;
    } else {
      field += c;
    }
  }
  if (!finished_ || at_ == text_.size()) return false;
  check(!quoted, ErrorKind::data, where_, "line ", line_ + 1,
        " has a quote without an end - expected a whole file - get it again.");
  if (!fields_.back().empty() && fields_.back().back() == '\r') fields_.back().pop_back();
  at_ = text_.size();
  ++line_;
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
  if (label_) element.y.push_back(Tensor::from<float>(Shape{1}, {number(*label_)}));
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
  // from_chars for floats is not in every library; strtof would take hexadecimal numbers and names too.
  const std::string copy(text.substr(0, 64));
  char* end = nullptr;
  const float value = std::strtof(copy.c_str(), &end);
  const bool decimal = !text.empty() && text.find_first_not_of("0123456789+-.eE") == text.npos;
  check(decimal && end == copy.data() + text.size(), ErrorKind::data, where_, "line ", line_, ", column \"",
        names_[column], "\": \"", text.substr(0, 40),
        "\" - expected a number - leave the column out by `columns`, or say what empty fields stand for by `missing`.");
  return value;
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
