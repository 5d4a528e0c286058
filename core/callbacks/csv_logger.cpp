#include "etude/callbacks/csv_logger.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/callbacks/output.hpp"

namespace etude {
namespace {

/// The columns that a first epoch asks for. Without a validation in it there may yet be one later (C-9).
std::vector<std::string> columns_of(const Logs& logs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < logs.size(); ++i) names.push_back(logs.name(i));
  std::ranges::sort(names);
  if (std::ranges::none_of(names, [](const std::string& name) { return name.starts_with("val_"); })) {
    const std::size_t count = names.size();
    for (std::size_t i = 0; i < count; ++i) names.push_back("val_" + names[i]);
  }
  return names;
}

std::string key_name(std::size_t number) { return "keys/" + std::to_string(number); }

}  // namespace

CSVLogger::CSVLogger(CSVLoggerOptions options) : options_(std::move(options)) {
  check(!options_.filename.empty(), ErrorKind::value, "CSVLogger",
        "no filename - expected the path of the file to write - set filename.");
  check(!options_.separator.empty(), ErrorKind::value, "CSVLogger",
        "an empty separator - expected what stands between two columns - choose one, such as \",\".");
}

void CSVLogger::on_train_begin(Logs&) {
  file_.reset();  // what a fit left open that ended in an error
  file_ = open_file(options_.open, options_.filename, options_.append, "CSVLogger");
  keys_.reset();
  written_.clear();
}

void CSVLogger::on_epoch_end(int epoch, Logs& logs) {
  if (!keys_) {
    keys_ = columns_of(logs);
    std::vector<std::string> header = *keys_;
    header.insert(header.begin(), "epoch");
    if (file_->empty()) write(header);
  }
  std::vector<std::string> row{std::to_string(epoch)};
  for (const std::string& key : *keys_) row.push_back(logs.contains(key) ? shortest(logs[key]) : "NA");
  write(row);
  file_->flush();
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
  if (!options_.append) written_ += line;
}

CallbackState CSVLogger::state() const {
  CallbackState state("CSVLogger");
  if (!keys_) return state;
  for (std::size_t i = 0; i < keys_->size(); ++i) state.set_text(key_name(i), (*keys_)[i]);
  if (!options_.append) state.set_text("written", written_);
  return state;
}

void CSVLogger::restore(const CallbackState& state) {
  keys_.emplace();
  while (state.contains(key_name(keys_->size()))) keys_->push_back(state.text(key_name(keys_->size())));
  if (options_.append || !written_.empty()) return;  // the file has them
  written_ = state.text("written");
  file_->append(written_);
  file_->flush();
}

}  // namespace etude
