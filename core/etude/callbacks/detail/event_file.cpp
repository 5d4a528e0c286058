#include "etude/callbacks/detail/event_file.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <vector>

#include "etude/base/detail/crc32c.hpp"

namespace etude {
namespace {

/// The masked form that records use: a checksum of data that contains checksums would be weak.
std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

/// Little-endian bytes of a number.
template <class Unsigned> std::string bytes_of(Unsigned number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i, number >>= 8) bytes += static_cast<char>(number & 0xFF);
  return bytes;
}
std::string bytes_of(double number) { return bytes_of(std::bit_cast<std::uint64_t>(number)); }

/// A message in the encoding of protocol buffers: fields, each with its number and wire type.
class Message {
 public:
  Message& integer(unsigned field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& number(unsigned field, double value) {
    key(field, 1);
    bytes += bytes_of(value);
    return *this;
  }
  Message& text(unsigned field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return text(field, value.bytes); }

  std::string bytes;

 private:
  void key(unsigned field, unsigned kind) { varint(field << 3 | kind); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
};

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

enum class DataClass : std::uint8_t { scalar = 1, tensor = 2 };

/// Event{wall_time = 1, step = 2, summary = 5 {value = 1 {tag = 1, tensor = 8, metadata = 9 {plugin_data = 1 {
/// plugin_name = 1}, data_class = 4}}}}.
std::string summary_event(std::string_view tag, std::int64_t step, const Message& tensor, std::string_view plugin,
                          DataClass data_class) {
  const Message metadata =
      Message().message(1, Message().text(1, plugin)).integer(4, static_cast<std::uint64_t>(data_class));
  const Message value = Message().text(1, tag).message(8, tensor).message(9, metadata);
  return Message()
      .number(1, wall_time())
      .integer(2, static_cast<std::uint64_t>(step))
      .message(5, Message().message(1, value))
      .bytes;
}

/// The name sorts files by age and is unique within a second, also among processes: an existing file would be
/// overwritten.
std::string file_name() {
  static std::atomic<int> count = 0;
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const long long second = 1'000'000'000;
  char name[96];
  std::snprintf(name, sizeof name, "/events.out.tfevents.%010lld.etude.%09lld.%06d.v2", now.count() / second,
                now.count() % second, count++);
  return name;
}

/// [bins, 3]: the begin, the end and the number of values of each bin. One bin if all values are equal.
std::vector<double> bins_of(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most) return {least - 0.5, most + 0.5, static_cast<double>(values.size())};
  constexpr int count = 30;
  const double width = (most - least) / count;
  std::vector<double> bins;
  for (int i = 0; i < count; ++i)
    bins.insert(bins.end(), {least + i * width, i + 1 < count ? least + (i + 1) * width : most, 0});
  for (const double value : values) {
    const int bin = std::clamp(static_cast<int>((value - least) / width), 0, count - 1);
    ++bins[static_cast<std::size_t>(3 * bin + 2)];
  }
  return bins;
}

// An entry point of a part of the WebAssembly module; bindings/parts.mjs lists it.
std::unique_ptr<EventFile> make_event_file(const OpenFile& open, const std::string& folder) {
  return std::make_unique<EventFile>(open, folder);
}

}  // namespace

// Not constant, so that no compiler replaces the address by a call.
std::unique_ptr<EventFile> (*event_file_maker)(const OpenFile& open, const std::string& folder) = make_event_file;

EventFile::EventFile(const OpenFile& open, const std::string& folder)
    : file_(open_file(open, folder + file_name(), false, "TensorBoard")) {
  write_event(Message().number(1, wall_time()).text(3, "brain.Event:2").bytes);
}

void EventFile::write_event(std::string_view event) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(event.size()));
  std::string record = length + bytes_of(masked_crc32c(length));
  record += event;
  record += bytes_of(masked_crc32c(event));
  file_->append(record);
}

// TensorProto{dtype = 1, tensor_shape = 2, tensor_content = 4}; DT_FLOAT is 1, DT_DOUBLE 2.
void EventFile::add_scalar(std::string_view tag, double value, std::int64_t step) {
  const std::string content = bytes_of(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  const Message tensor = Message().integer(1, 1).message(2, {}).text(4, content);
  write_event(summary_event(tag, step, tensor, "scalars", DataClass::scalar));
}

void EventFile::add_histogram(std::string_view tag, std::span<const double> values, std::int64_t step) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (finite.empty()) return;
  const std::vector<double> bins = bins_of(finite);
  std::string content;
  for (const double number : bins) content += bytes_of(number);
  const auto extent = [](std::uint64_t size) { return Message().integer(1, size); };
  const Message shape = Message().message(2, extent(bins.size() / 3)).message(2, extent(3));
  const Message tensor = Message().integer(1, 2).message(2, shape).text(4, content);
  write_event(summary_event(tag, step, tensor, "histograms", DataClass::tensor));
}

}  // namespace etude
