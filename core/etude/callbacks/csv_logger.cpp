#include "etude/callbacks/csv_logger.hpp"

#include <algorithm>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/callbacks/detail/output.hpp"
#include "etude/saving/detail/save_model.hpp"

namespace etude {
namespace {

/// The columns for a first epoch. If it has no validation, columns for a later one are added (C-9).
std::vector<std::string> columns_of(const Logs& logs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < logs.size(); ++i) names.push_back(logs.name(i));
  heap_sort(names);
  if (std::ranges::none_of(names, [](const std::string& name) { return name.starts_with("val_"); })) {
    const std::size_t count = names.size();
    for (std::size_t i = 0; i < count; ++i) names.push_back("val_" + names[i]);
  }
  return names;
}

constexpr const char* where = "CSVLogger";

/// Whether the text consists of the rows of the epochs from `epoch` on, perhaps after a header if one is allowed, and
/// perhaps with the beginning of another row at its end.
bool are_rows(std::string_view text, bool with_header, int epoch, const std::string& separator) {
  const auto take_line = [&](const std::string& first) {
    const std::size_t end = text.find('\n');
    const std::string begin = first + separator;
    const bool fits = end == text.npos ? begin.starts_with(text.substr(0, begin.size())) : text.starts_with(begin);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return fits;
  };
  if (with_header && !take_line("epoch")) return false;
  while (!text.empty())
    if (!take_line(std::to_string(epoch++))) return false;
  return true;
}

std::string key_name(std::size_t number) { return "keys/" + std::to_string(number); }

}  // namespace

CSVLogger::CSVLogger(CSVLoggerOptions options) : options_(std::move(options)) {
  check(!options_.filename.empty(), ErrorKind::value, where,
        "no filename - expected the path of the file to write - set filename.");
  if (!options_.open) check_is_path(options_.filename, where);
  check(!options_.separator.empty(), ErrorKind::value, where,
        "an empty separator - expected the text between two columns - set separator, such as \",\".");
}

void CSVLogger::on_train_begin(Logs&) {
  file_.reset();
  keys_.reset();
  written_.clear();
  size_ = 0;
  may_have_more_ = false;
  if (!options_.append || options_.open || !host().files) return;
  if (host().files->kind(options_.filename) == PathKind::file) size_ = host().files->size(options_.filename);
}

void CSVLogger::on_epoch_begin(int epoch, Logs&) {
  if (!file_) open(epoch);
}

void CSVLogger::open(int epoch) {
  if (may_have_more_ && !options_.open && host().files) cut(epoch);
  file_ = open_file(options_.open, options_.filename, options_.append, where);
  if (!written_.empty()) {
    file_->append(written_);
    file_->flush();
  } else if (keys_ && !options_.open && file_->empty()) {
    write_header();  // the file was removed
  }
}

void CSVLogger::cut(int epoch) {
  Vfs& files = *host().files;
  const std::string& path = options_.filename;
  if (!files.exists(path) || files.size(path) <= size_) return;
  const std::vector<std::byte> bytes = files.read(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view own = text.substr(0, static_cast<std::size_t>(size_));
  if (are_rows(text.substr(own.size()), own.empty(), epoch, options_.separator)) files.replace(path, {own});
}

void CSVLogger::on_epoch_end(int epoch, Logs& logs) {
  if (!file_) open(epoch);
  if (!keys_) {
    keys_ = columns_of(logs);
    if (file_->empty()) write_header();
  }
  std::vector<std::string> row{std::to_string(epoch)};
  for (const std::string& key : *keys_) row.push_back(logs.contains(key) ? shortest(logs[key]) : "NA");
  write(row);
  file_->flush();
}

void CSVLogger::on_train_end(Logs&) {
  if (!file_ && !written_.empty()) open(0);  // there was no epoch to train
  file_.reset();
}

void CSVLogger::write_header() {
  std::vector<std::string> header = *keys_;
  header.insert(header.begin(), "epoch");
  write(header);
}

void CSVLogger::write(const std::vector<std::string>& row) {
  std::string line;
  for (const std::string& field : row) {
    if (!line.empty()) line += options_.separator;
    if (field.find(options_.separator) == field.npos && field.find_first_of("\"\r\n") == field.npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line.append(c == '"' ? 2 : 1, c);
    line += '"';
  }
  line += "\r\n";
  file_->append(line);
  size_ += line.size();
  if (!options_.append) written_ += line;
}

CallbackState CSVLogger::state() const {
  CallbackState state(where);
  if (options_.append) state.set("size", static_cast<double>(size_));
  if (!keys_) return state;
  for (std::size_t i = 0; i < keys_->size(); ++i) state.set_text(key_name(i), (*keys_)[i]);
  if (!options_.append) state.set_text("written", written_);
  return state;
}

void CSVLogger::on_members_change() {
  file_.reset();
  keys_.reset();
  written_.clear();
}

void CSVLogger::restore(const CallbackState& state) {
  if (file_) return;  // the file is complete
  may_have_more_ = options_.append;
  if (state.contains(key_name(0))) keys_.emplace();
  while (keys_ && state.contains(key_name(keys_->size()))) keys_->push_back(state.text(key_name(keys_->size())));
  if (options_.append)
    size_ = static_cast<std::uint64_t>(state.number("size"));
  else if (keys_)
    written_ = state.text("written");
}

}  // namespace etude
