#include "etude/base/detail/inflate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace etude {
namespace {

constexpr int longest_code = 15;

/// The bits of a stream, from the lowest of each byte on. After the end come zeros, which `ended` reports.
class Bits {
 public:
  explicit Bits(std::span<const std::byte> in) : in_(in) {}

  /// The next bits, up to 15 of them, without consuming them.
  std::uint32_t peek(int count) {
    while (held_ < count) {
      const std::uint64_t byte = at_ < in_.size() ? std::to_integer<std::uint64_t>(in_[at_]) : 0;
      bits_ |= byte << held_;
      held_ += 8;
      ++at_;
    }
    return static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << count) - 1));
  }
  void skip(int count) {
    bits_ >>= count;
    held_ -= count;
  }
  std::uint32_t take(int count) {
    const std::uint32_t bits = peek(count);
    skip(count);
    return bits;
  }
  /// Discards the rest of a byte.
  void align() { skip(held_ % 8); }
  /// The bytes of which at least one bit is consumed.
  std::size_t used() const { return at_ - static_cast<std::size_t>(held_ / 8); }
  bool ended() const { return used() > in_.size(); }
  /// The next bytes, after align(); empty if there are fewer.
  std::span<const std::byte> bytes(std::size_t count) {
    const std::size_t begin = used();
    if (begin > in_.size() || count > in_.size() - begin) return {};
    at_ = begin + count;
    bits_ = 0;
    held_ = 0;
    return in_.subspan(begin, count);
  }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  std::uint64_t bits_ = 0;
  int held_ = 0;
};

/// A Huffman code, with a table for its short words.
class Code {
 public:
  /// From the length of each symbol's word, 0 for none. Returns whether they are a prefix code: complete, or with one
  /// word or none.
  bool make(std::span<const std::uint8_t> lengths) {
    counts_ = {};
    for (const std::uint8_t length : lengths) ++counts_[length];
    counts_[0] = 0;
    std::array<std::uint16_t, longest_code + 2> begin{};
    int left = 1, words = 0;
    for (std::size_t length = 1; length <= longest_code; ++length) {
      left = 2 * left - counts_[length];
      if (left < 0) return false;
      words += counts_[length];
      begin[length + 1] = static_cast<std::uint16_t>(begin[length] + counts_[length]);
    }
    if (left > 0 && words > 1) return false;
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol]) symbols_[begin[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    fill_table();
    return true;
  }

  /// The next symbol; -1 if the bits are no word.
  int read(Bits& bits) const {
    const std::uint32_t next = bits.peek(longest_code);
    if (const Entry entry = table_[next & (table_size - 1)]; entry.length) {
      bits.skip(entry.length);
      return entry.symbol;
    }
    int word = 0, first = 0, index = 0;
    for (int length = 1; length <= longest_code; ++length) {
      word |= static_cast<int>(next >> (length - 1) & 1);
      const int count = counts_[static_cast<std::size_t>(length)];
      if (word - first < count) {
        bits.skip(length);
        return symbols_[static_cast<std::size_t>(index + word - first)];
      }
      index += count;
      first = 2 * (first + count);
      word *= 2;
    }
    return -1;
  }

 private:
  static constexpr int table_bits = 9;
  static constexpr std::uint32_t table_size = 1 << table_bits;
  struct Entry {
    std::uint16_t symbol = 0;
    std::uint8_t length = 0;
  };

  void fill_table() {
    table_ = {};
    std::uint32_t word = 0;
    std::size_t index = 0;
    for (int length = 1; length <= table_bits; ++length, word <<= 1) {
      for (int i = 0; i < counts_[static_cast<std::size_t>(length)]; ++i, ++word, ++index) {
        std::uint32_t reversed = 0;
        for (int bit = 0; bit < length; ++bit) reversed |= (word >> bit & 1) << (length - 1 - bit);
        for (std::uint32_t at = reversed; at < table_size; at += 1u << length)
          table_[at] = {symbols_[index], static_cast<std::uint8_t>(length)};
      }
    }
  }

  std::array<std::uint16_t, longest_code + 1> counts_{};
  std::array<std::uint16_t, 288> symbols_{};
  std::array<Entry, table_size> table_{};
};

/// The smallest number of a class, and the bits that are added to it.
struct Range {
  std::uint16_t base;
  std::uint8_t bits;
};
constexpr std::array<Range, 29> length_ranges{
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};
constexpr std::array<Range, 30> distance_ranges{
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},     {9, 2},     {13, 2},
     {17, 3},    {25, 3},    {33, 4},    {49, 4},     {65, 5},     {97, 5},    {129, 6},   {193, 6},
     {257, 7},   {385, 7},   {513, 8},   {769, 8},    {1025, 9},   {1537, 9},  {2049, 10}, {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

class Inflation {
 public:
  Inflation(std::span<const std::byte> in, std::span<std::byte> out) : bits_(in), out_(out) {}

  std::optional<std::size_t> run() {
    for (bool last = false; !last;) {
      last = bits_.take(1) != 0;
      const std::uint32_t kind = bits_.take(2);
      const bool right = kind == 0 ? copy_stored() : kind == 1 ? expand_fixed() : kind == 2 && expand_dynamic();
      if (!right || bits_.ended()) return {};
    }
    if (filled_ != out_.size()) return {};
    return bits_.used();
  }

 private:
  bool copy_stored() {
    bits_.align();
    const std::uint32_t size = bits_.take(8) | bits_.take(8) << 8, inverse = bits_.take(8) | bits_.take(8) << 8;
    if ((size ^ inverse) != 0xFFFF || size > out_.size() - filled_ || bits_.ended()) return false;
    const auto bytes = bits_.bytes(size);
    if (bytes.size() != size) return false;
    if (size) std::memcpy(out_.data() + filled_, bytes.data(), size);
    filled_ += size;
    return true;
  }

  bool expand_fixed() {
    std::array<std::uint8_t, 288> lengths;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    std::array<std::uint8_t, 32> distances;
    distances.fill(5);
    return literals_.make(lengths) && distances_.make(distances) && expand();
  }

  bool expand_dynamic() {
    constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::size_t literals = 257 + bits_.take(5), distances = 1 + bits_.take(5), words = 4 + bits_.take(4);
    if (literals > 286 || distances > 30) return false;
    std::array<std::uint8_t, 320> lengths{};
    for (std::size_t i = 0; i < words; ++i) lengths[order[i]] = static_cast<std::uint8_t>(bits_.take(3));
    if (!literals_.make(std::span(lengths).first(19))) return false;
    lengths = {};
    for (std::size_t i = 0; i < literals + distances;) {
      const int symbol = literals_.read(bits_);
      if (symbol < 0 || bits_.ended()) return false;
      if (symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) return false;
      const std::uint8_t length = symbol == 16 ? lengths[i - 1] : 0;
      const std::size_t times = symbol == 16   ? 3 + bits_.take(2)
                                : symbol == 17 ? 3 + bits_.take(3)
                                               : 11 + bits_.take(7);
      if (times > literals + distances - i) return false;
      std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times, length);
      i += times;
    }
    const auto all = std::span<const std::uint8_t>(lengths);
    return lengths[256] != 0 && literals_.make(all.first(literals)) &&
           distances_.make(all.subspan(literals, distances)) && expand();
  }

  bool expand() {
    for (;;) {
      const int symbol = literals_.read(bits_);
      if (symbol < 0 || bits_.ended()) return false;
      if (symbol == 256) return true;
      if (symbol < 256) {
        if (filled_ == out_.size()) return false;
        out_[filled_++] = static_cast<std::byte>(symbol);
        continue;
      }
      const std::size_t length_class = static_cast<std::size_t>(symbol) - 257;
      if (length_class >= length_ranges.size()) return false;
      const std::size_t length = number_in(length_ranges[length_class]);
      const int distance_class = distances_.read(bits_);
      if (distance_class < 0 || static_cast<std::size_t>(distance_class) >= distance_ranges.size()) return false;
      const std::size_t distance = number_in(distance_ranges[static_cast<std::size_t>(distance_class)]);
      if (distance > filled_ || length > out_.size() - filled_) return false;
      std::byte* to = out_.data() + filled_;
      // Both may overlap: a short distance repeats its bytes.
      for (std::size_t i = 0; i < length; ++i) to[i] = *(to + i - distance);
      filled_ += length;
    }
  }

  std::size_t number_in(const Range& range) { return range.base + bits_.take(range.bits); }

  Bits bits_;
  std::span<std::byte> out_;
  std::size_t filled_ = 0;
  Code literals_, distances_;
};

std::uint32_t adler32(std::span<const std::byte> bytes) {
  constexpr std::size_t until_overflow = 5552;
  std::uint32_t a = 1, b = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(until_overflow, bytes.size()))) {
    for (const std::byte byte : bytes.first(std::min(until_overflow, bytes.size())))
      b += a += std::to_integer<std::uint32_t>(byte);
    a %= 65521;
    b %= 65521;
  }
  return b << 16 | a;
}

}  // namespace

std::optional<std::size_t> inflate(std::span<const std::byte> in, std::span<std::byte> out) {
  return Inflation(in, out).run();
}

bool inflate_zlib(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t before = 2, after = 4;
  if (in.size() < before + after) return false;
  const auto number = [&](std::size_t at) { return std::to_integer<std::uint32_t>(in[at]); };
  constexpr std::uint32_t deflate = 8, dictionary = 0x20;
  if ((number(0) & 0xF) != deflate || (number(0) << 8 | number(1)) % 31 != 0 || number(1) & dictionary) return false;
  const std::size_t end = in.size() - after;
  if (inflate(in.subspan(before, end - before), out) != end - before) return false;
  return adler32(out) == (number(end) << 24 | number(end + 1) << 16 | number(end + 2) << 8 | number(end + 3));
}

}  // namespace etude
