#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etude/classes/field.hpp"
#include "etude/data/dataset.hpp"

namespace etude {

/// Options of read_csv and csv.
struct CsvOptions {
  /// The character between fields.
  std::string delimiter = ",";
  /// Whether the first line has the names of the columns. Otherwise columns are named "0", "1", …
  bool header = true;
  /// The columns of x, in order; all but `label` if empty.
  std::vector<std::string> columns = {};
  /// The column of y; none if empty.
  std::string label = {};
  /// The texts of the label column. Then y is the index of the text, from 0. Without them labels are numbers.
  std::vector<std::string> class_names = {};
  /// The value of an empty field. Without it, an empty field is an error.
  std::optional<double> missing = {};

  template <class O = CsvOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::delimiter>("The character between the fields of a line."),
        option<&O::header>("Whether the first line holds the names of the columns."),
        option<&O::columns>("Columns of x, by name or number. Default: all but the label."),
        option<&O::label>("Column of y, by name or number. Default: none."),
        option<&O::class_names>("Names of the classes, where labels are text, in the order of their numbers."),
        option<&O::missing>("Value of empty fields. Default: they are an error."));
  }
};

/// Makes elements from the lines of a CSV text that arrives in pieces: x [columns] and y [1], as float32. Fields may be
/// quoted as in RFC 4180. Lines end in \n, \r\n or \r. Empty lines and a byte-order mark of UTF-8 are ignored.
class CsvReader {
 public:
  /// Throws Error(value) for a delimiter that is not one character, and for class_names without a label.
  explicit CsvReader(CsvOptions options, std::string where = "csv");

  /// Appends a piece of the text.
  void add(std::span<const std::byte> bytes);
  /// Marks the end of the text.
  void finish() { finished_ = true; }
  /// The next element, if its line is complete. Throws Error(data), with line and column, for a field that is no number
  /// or a line that is incomplete, and Error(value) for a column that does not exist.
  std::optional<Batch> next();

 private:
  /// Reads the fields of the next line. Returns false if the line is incomplete; fields_ then holds the part so far.
  bool read_line();
  /// Reads text_[at_]. Returns true if it ends the line.
  bool read_character();
  bool read_quoted_character();
  /// Appends to the last field.
  void append(char c);
  void read_header();
  float number(std::size_t column) const;
  float label_of_line() const;
  [[noreturn]] void fail_at(std::size_t column, std::string_view text) const;
  std::size_t column_called(const std::string& name) const;

  CsvOptions options_;
  std::string where_, text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, lines_ = 0;  // the line where the fields begin; the number of complete lines
  bool finished_ = false, begun_ = false, in_line_ = false, quoted_ = false, behind_cr_ = false;
  bool blank_ = true;  // whether the last field has only spaces
  std::vector<std::string> fields_, names_;
  std::vector<std::size_t> inputs_;
  std::optional<std::size_t> label_;
};

/// A sequence of pieces of a file, possibly asynchronous. The interface for streams of other languages.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Requests the next piece. Null: `consume` has it.
  virtual PendingPtr fetch() { return nullptr; }
  /// The requested piece; empty at the end.
  virtual std::optional<std::vector<std::byte>> consume() = 0;
};

/// The lines of a CSV file, which may be larger than memory: every iteration reads it again, piece by piece.
Dataset read_csv(const std::string& path, const CsvOptions& options = {});
/// The same for a stream; `open` starts at its first piece. `asynchronous`: whether pieces may have to be awaited.
Dataset csv_dataset(std::function<std::unique_ptr<ByteSource>()> open, const CsvOptions& options, bool asynchronous,
                    const std::string& where = "csv");

}  // namespace etude
