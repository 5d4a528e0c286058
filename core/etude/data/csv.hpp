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
  /// One character.
  std::string delimiter = ",";
  /// Whether the first line has names. Without it columns are called "0", "1", …
  bool header = true;
  /// The columns that make x, in their order; all but `label` if empty.
  std::vector<std::string> columns = {};
  /// The column that is y; none if empty.
  std::string label = {};
  /// The texts of the label column, of which y is then the number, from 0 on; without them labels are numbers.
  std::vector<std::string> class_names = {};
  /// What an empty field stands for; without it, it is an error.
  std::optional<double> missing = {};

  static constexpr auto fields() {
    return option_rows(
        option<&CsvOptions::delimiter>("Text between the fields of a line."),
        option<&CsvOptions::header>("Whether the first line holds the names of the columns."),
        option<&CsvOptions::columns>("Columns that are read, by name or number. Default: all."),
        option<&CsvOptions::label>("Column of the labels, by name or number."),
        option<&CsvOptions::class_names>("Names of the classes, where labels are text, in the order of their numbers."),
        option<&CsvOptions::missing>("Value of empty fields. Default: they are an error."));
  }
};

/// Makes elements of the lines of a CSV text that comes in pieces: x [columns] and y [1], as float32. Fields may be
/// quoted as RFC 4180 says, lines end in \n, \r\n or \r; empty ones do not count, nor does a byte-order mark of UTF-8.
class CsvReader {
 public:
  /// Throws Error(value) for a delimiter that is not one character, and for class_names without a label.
  explicit CsvReader(CsvOptions options, std::string where = "csv");

  /// Takes in more of the text.
  void add(std::span<const std::byte> bytes);
  /// There is no more of it.
  void finish() { finished_ = true; }
  /// The next element, if its line is there. Throws Error(data), with line and column, for what is no number or no
  /// whole line, and Error(value) for a column that does not exist.
  std::optional<Batch> next();

 private:
  /// The fields of the next line; false: it is not whole yet, and what there is of it is in fields_.
  bool read_line();
  /// Takes in text_[at_]; true: it ends the line.
  bool read_character();
  bool read_quoted_character();
  /// Adds to the last field.
  void append(char c);
  void read_header();
  float number(std::size_t column) const;
  float label_of_line() const;
  [[noreturn]] void fail_at(std::size_t column, std::string_view text) const;
  std::size_t column_called(const std::string& name) const;

  CsvOptions options_;
  std::string where_, text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, lines_ = 0;  // where the fields begin; what has ended
  bool finished_ = false, begun_ = false, in_line_ = false, quoted_ = false, behind_cr_ = false;
  bool blank_ = true;  // whether the last field has nothing but spaces
  std::vector<std::string> fields_, names_;
  std::vector<std::size_t> inputs_;
  std::optional<std::size_t> label_;
};

/// Pieces of a file, one after the other, perhaps later: the seam for streams of other languages.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Asks for the next piece. Null: `take` has it.
  virtual PendingPtr fetch() { return nullptr; }
  /// The piece that was asked for; nothing at the end.
  virtual std::optional<std::vector<std::byte>> take() = 0;
};

/// The lines of a CSV file, which may be larger than memory: it is read anew, piece by piece, in every iteration.
Dataset read_csv(const std::string& path, const CsvOptions& options = {});
/// The same of pieces; `open` begins with the first. `asynchronous`: whether they may have to be waited for.
Dataset csv_dataset(std::function<std::unique_ptr<ByteSource>()> open, const CsvOptions& options, bool asynchronous,
                    const std::string& where = "csv");

}  // namespace etude
