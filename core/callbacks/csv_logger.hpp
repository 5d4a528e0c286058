#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/callbacks/file_sink.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct CSVLoggerOptions {
  std::string filename = {};
  std::string separator = ",";
  /// Goes on with the file that is there.
  bool append = false;
  /// How the file is opened; in host_vfs() if empty.
  OpenFile open = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("filename", self.filename);
    visit("separator", self.separator);
    visit("append", self.append);
    visit("open", self.open);
  }
};

/// Writes a line of figures per epoch, as Python's csv module would (C-9): epoch, then the names of the first epoch in
/// alphabetical order; "NA" for what an epoch lacks. Source: keras/src/callbacks/csv_logger.py.
class CSVLogger : public Callback {
 public:
  /// Throws Error(value) without a filename or separator.
  explicit CSVLogger(CSVLoggerOptions options);

  /// Throws Error(io) where the file cannot be opened.
  void on_train_begin(Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override { file_.reset(); }
  /// The lines so far, which a file that was begun anew is given again; unless `append`, which goes on with the file.
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void write(const std::vector<std::string>& row);

  CSVLoggerOptions options_;
  std::unique_ptr<FileSink> file_;
  std::optional<std::vector<std::string>> keys_;
  std::string written_;
};

namespace callbacks {

inline std::shared_ptr<CSVLogger> csv_logger(CSVLoggerOptions options) {
  return std::make_shared<CSVLogger>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
