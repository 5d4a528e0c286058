#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "etude/callbacks/file_sink.hpp"

namespace etude {

/// A TensorBoard file: records of length, data and their checksums, each an Event in the encoding of protocol buffers.
/// Source: tensorflow/core/lib/io/record_writer.cc, tensorflow/core/util/event.proto, tensorboard/plugins/scalar and
/// histogram (version 2).
class EventFile {
 public:
  /// Creates a file with a unique name in `folder`. Throws Error(io) if it cannot be opened.
  EventFile(const OpenFile& open, const std::string& folder);
  virtual ~EventFile() = default;

  virtual void add_scalar(std::string_view tag, double value, std::int64_t step);
  /// Adds the distribution of the finite `values` in 30 bins of equal width; adds nothing if there are none.
  void add_histogram(std::string_view tag, std::span<const double> values, std::int64_t step);
  virtual void flush() { file_->flush(); }

 private:
  void write_event(std::string_view event);

  std::unique_ptr<FileSink> file_;
};

/// Makes an EventFile. Called by address, and its virtual functions as well: in the WebAssembly module it is in another
/// part than trials.
extern std::unique_ptr<EventFile> (*event_file_maker)(const OpenFile& open, const std::string& folder);

}  // namespace etude
