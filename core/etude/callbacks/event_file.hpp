#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "etude/callbacks/file_sink.hpp"

namespace etude {

/// A file of TensorBoard's: records of length, data and their checksums, each an Event in protocol buffers' encoding.
/// Source: tensorflow/core/lib/io/record_writer.cc, tensorflow/core/util/event.proto, tensorboard/plugins/scalar and
/// histogram (version 2).
class EventFile {
 public:
  /// Begins a file in `folder` whose name no other has. Throws Error(io) where it cannot be opened.
  EventFile(const OpenFile& open, const std::string& folder);

  void add_scalar(std::string_view tag, double value, std::int64_t step);
  /// The distribution of `values` in 30 bins of equal width; of those that are finite, and not at all if none is.
  void add_histogram(std::string_view tag, std::span<const double> values, std::int64_t step);
  void flush() { file_->flush(); }

 private:
  void write_event(std::string_view event);

  std::unique_ptr<FileSink> file_;
};

}  // namespace etude
