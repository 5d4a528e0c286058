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
  /// Appends to an existing file.
  bool append = false;
  /// Opens the file; host().files if empty. A file opened by it can only grow: see CSVLogger.
  OpenFile open = {};

  template <class O = CSVLoggerOptions> static constexpr auto fields() {
    return option_rows(option<&O::filename>("Path of the file.", Need::required),
                       option<&O::separator>("Text between the fields of a line."),
                       option<&O::append>("Whether an existing file is continued."),
                       option<&O::open>("Function that opens the file instead of the host."));
  }
};

/// Writes a line of values per epoch, in the format of Python's csv module (C-9): epoch, then the names of the first
/// epoch in alphabetical order; "NA" for values that an epoch lacks. Source: keras/src/callbacks/csv_logger.py.
///
/// The file is opened when the first epoch begins: a fit that fails before leaves it unchanged. If fit continues by
/// BackupAndRestore, each epoch has one line: with `append`, the lines of repeated epochs are cut off. With the option
/// `open` they stay, because such a file cannot be cut.
class CSVLogger : public Callback {
 public:
  using Options = CSVLoggerOptions;
  static constexpr ClassText about{.name = "CSVLogger",
                                   .text = "Writes the logs of each epoch as a line of a CSV file.",
                                   .example = R"({"filename": "log.csv"})"};
  /// Throws Error(value) for an empty filename or separator, and, without `open`, for the name of another place, such
  /// as "localstorage://log".
  explicit CSVLogger(CSVLoggerOptions options);

  Needs needs(Hook) const override { return Needs::nothing; }
  void on_train_begin(Logs&) override;
  /// Throws Error(io) if the file cannot be opened.
  void on_epoch_begin(int epoch, Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  void release() noexcept override { file_.reset(); }
  /// The lines so far, to write them again to a new file; with `append`, the length of the file.
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  void on_members_change() override;
  bool remembers_start() const override { return options_.append && !options_.open; }

 private:
  void open(int epoch);
  /// Removes the lines of `epoch` and later ones, which an interrupted fit wrote after its last checkpoint. Leaves the
  /// file unchanged if there is anything else.
  void cut(int epoch);
  void write(const std::vector<std::string>& row);
  void write_header();

  CSVLoggerOptions options_;
  std::unique_ptr<FileSink> file_;
  std::optional<std::vector<std::string>> keys_;
  /// Everything written, unless `append`.
  std::string written_;
  /// With `append`: the bytes in the file, and whether it may have lines of an interrupted fit.
  std::uint64_t size_ = 0;
  bool may_have_more_ = false;
};

namespace callbacks {

inline constexpr Factory<CSVLogger> csv_logger;

}  // namespace callbacks
}  // namespace etude
