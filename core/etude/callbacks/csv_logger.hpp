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
  /// How the file is opened; in host().files if empty. What it opens can only grow: see CSVLogger.
  OpenFile open = {};

  static constexpr auto fields() {
    return option_rows(option<&CSVLoggerOptions::filename>("Path of the file.", Need::required),
                       option<&CSVLoggerOptions::separator>("Text between the fields of a line."),
                       option<&CSVLoggerOptions::append>("Whether an existing file is continued."),
                       option<&CSVLoggerOptions::open>("Opens the file instead of the host."));
  }
};

/// Writes a line of figures per epoch, as Python's csv module would (C-9): epoch, then the names of the first epoch in
/// alphabetical order; "NA" for what an epoch lacks. Source: keras/src/callbacks/csv_logger.py.
///
/// The file is opened when the first epoch begins: a fit that is refused before leaves it as it is. Where a fit goes on
/// by BackupAndRestore each epoch has one line: with `append`, the lines of epochs that are trained once more are cut
/// off, unless the option `open` is given, for then nothing can be cut.
class CSVLogger : public Callback {
 public:
  using Options = CSVLoggerOptions;
  static constexpr ClassText about{.name = "CSVLogger",
                                   .text = "Writes the logs of each epoch as a line of a CSV file.",
                                   .example = R"({"filename": "log.csv"})"};
  /// Throws Error(value) without a filename or separator, and, unless `open` is given, for the name of another place,
  /// such as "localstorage://log".
  explicit CSVLogger(CSVLoggerOptions options);

  Needs needs(Hook) const override { return Needs::nothing; }
  void on_train_begin(Logs&) override;
  /// Throws Error(io) where the file cannot be opened.
  void on_epoch_begin(int epoch, Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  void release() noexcept override { file_.reset(); }
  /// The lines so far, which a file that was begun anew is given again; with `append`, how long the file is.
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  bool remembers_start() const override { return options_.append && !options_.open; }

 private:
  void open(int epoch);
  /// Cuts off what an interrupted fit wrote after its last checkpoint: lines of `epoch` and the next ones. Leaves the
  /// file as it is if there is anything else.
  void cut(int epoch);
  void write(const std::vector<std::string>& row);
  void write_header();

  CSVLoggerOptions options_;
  std::unique_ptr<FileSink> file_;
  std::optional<std::vector<std::string>> keys_;
  /// Unless `append`, all that was written.
  std::string written_;
  /// With `append`, the bytes in the file, and whether it may have more of an interrupted fit.
  std::uint64_t size_ = 0;
  bool may_have_more_ = false;
};

namespace callbacks {

inline constexpr Factory<CSVLogger> csv_logger;

}  // namespace callbacks
}  // namespace etude
