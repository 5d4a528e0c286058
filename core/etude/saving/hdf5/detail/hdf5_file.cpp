#include "etude/saving/hdf5/detail/hdf5_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "etude/base/error.hpp"

namespace etude::hdf5 {

File::File(std::shared_ptr<FileSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), end_(source_->size()) {}

void File::set_end(std::uint64_t end) {
  check(end <= end_, ErrorKind::data, "hdf5", '"', name_, "\" has ", end_, " bytes - expected ", end,
        " - the file is truncated; get it again.");
  end_ = end;
}

std::vector<std::byte> File::begin_of(std::uint64_t at, std::size_t most) const {
  require(at < end_, at, "an address beyond the file", "an address in it");
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min<std::uint64_t>(most, end_ - at)));
  read(at, bytes);
  return bytes;
}

std::vector<std::byte> File::structure(std::uint64_t at, std::uint64_t size, std::uint64_t owner) {
  require(size <= std::uint64_t{1} << 30, at, "a structure of more than 1 GiB", "a smaller one");
  claim(at, size, owner);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  read(at, bytes);
  return bytes;
}

void File::claim(std::uint64_t at, std::uint64_t size, std::uint64_t owner) {
  require(at < end_ && size <= end_ - at, at, "a structure that ends beyond the file", "one in it");
  if (size == 0) return;
  const std::uint64_t end = at + size;
  const auto next = claims_.lower_bound(at);
  const bool same = next != claims_.end() && next->first == at;
  if (same && next->second.end == end && next->second.owner == owner && next->second.walk != walk_) {
    next->second.walk = walk_;
    return;
  }
  const bool before = next == claims_.begin() || std::prev(next)->second.end <= at;
  require(!same && before && (next == claims_.end() || next->first >= end), at,
          "a structure that overlaps another one, or contains itself", "one structure for each byte");
  claims_.emplace_hint(next, at, Claim{end, owner, walk_});
}

void File::damaged(std::uint64_t at, std::string_view what, std::string_view expected) const {
  fail(ErrorKind::data, "hdf5", '"', name_, "\": ", what, " at byte ", at, " - expected ", expected,
       " - the file is damaged.");
}

void File::refuse(std::uint64_t at, std::string_view what, std::string_view expected) const {
  fail(ErrorKind::data, "hdf5", '"', name_, "\": ", what, " at byte ", at, " - expected ", expected,
       " - write the file as Keras does.");
}

std::uint64_t Bytes::number(std::size_t size) {
  std::uint64_t result = 0;
  const auto bytes = take(size);
  for (std::size_t i = 0; i < bytes.size(); ++i) result |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  return result;
}

std::span<const std::byte> Bytes::take(std::uint64_t size) {
  require(size <= bytes_.size(), "a structure that is cut off", "more bytes");
  const auto taken = bytes_.first(static_cast<std::size_t>(size));
  bytes_ = bytes_.subspan(taken.size());
  at_ += size;
  return taken;
}

Bytes Bytes::part(std::uint64_t size) {
  const std::uint64_t at = at_;
  return {*file_, at, take(size)};
}

std::string Bytes::text() {
  const auto end = std::ranges::find(bytes_, std::byte{0});
  require(end != bytes_.end(), "a name without an end", "a NUL byte after it");
  const auto bytes = take(static_cast<std::uint64_t>(end - bytes_.begin()));
  skip(1);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool Bytes::begins(std::string_view mark) {
  if (bytes_.size() < mark.size() || std::memcmp(bytes_.data(), mark.data(), mark.size()) != 0) return false;
  skip(mark.size());
  return true;
}

void Bytes::expect(std::string_view mark) {
  const std::uint64_t at = at_;
  if (begins(mark)) return;
  file_->damaged(at, "another structure", '"' + std::string(mark) + '"');
}

std::uint32_t lookup3(std::span<const std::byte> bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto add = [&](std::span<const std::byte> block) {
    std::uint32_t words[3]{};
    for (std::size_t i = 0; i < block.size(); ++i)
      words[i / 4] |= std::to_integer<std::uint32_t>(block[i]) << 8 * (i % 4);
    a += words[0];
    b += words[1];
    c += words[2];
  };
  const auto turn = [](std::uint32_t& x, std::uint32_t y, int bits) { x = (x ^ y) - std::rotl(y, bits); };
  if (bytes.empty()) return c;
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add(bytes.first(12));
    const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t z, int bits) {
      x = (x - y) ^ std::rotl(y, bits);
      y += z;
    };
    mix(a, c, b, 4);
    mix(b, a, c, 6);
    mix(c, b, a, 8);
    mix(a, c, b, 16);
    mix(b, a, c, 19);
    mix(c, b, a, 4);
  }
  add(bytes);
  turn(c, b, 14);
  turn(a, c, 11);
  turn(b, a, 25);
  turn(c, b, 16);
  turn(a, c, 4);
  turn(b, a, 14);
  turn(c, b, 24);
  return c;
}

void require_checksum(const File& file, std::uint64_t at, std::uint64_t stored, std::uint64_t right) {
  check(stored == right, ErrorKind::data, "hdf5", '"', file.name(), "\": the checksum ", stored, " at byte ", at,
        " - expected ", right, " - the file is damaged.");
}

void verify_checksum(const File& file, std::uint64_t at, std::span<const std::byte> structure) {
  constexpr std::size_t size = 4;
  file.require(structure.size() >= size, at, "a structure that is cut off", "more bytes");
  const std::size_t end = structure.size() - size;
  Bytes stored(file, at + end, structure.subspan(end));
  require_checksum(file, at + end, stored.number(size), lookup3(structure.first(end)));
}

}  // namespace etude::hdf5
