#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "files_in_memory.hpp"
#include "safetensors_samples.hpp"
#include "support.hpp"

// ZIP archives. Python's zipfile reads those that are written here, and testzip() finds no fault in them (checked with
// Python 3.11).
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

/// 100,000 bytes that compress.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 100'000; ++i) text += std::to_string(i * i % 1000);
  return text;
}

std::string archive_of(const std::vector<std::pair<std::string, std::string>>& contents, bool compress = false) {
  const auto files = std::make_shared<MemoryVfs>();
  const auto writer = create_archive("a.zip", files);
  for (const auto& [name, text] : contents) writer->add(name, text, compress);
  writer->commit();
  return text_in(*files, "a.zip");
}

/// The bytes of a source.
std::string text_from(FileSource& source) {
  std::string text(static_cast<std::size_t>(source.size()), ' ');
  source.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// All files of an archive, read by both functions.
std::vector<std::pair<std::string, std::string>> contents_of(const std::string& archive,
                                                             const ArchiveLimits& limits = {}) {
  const auto reader = open_archive(bytes_of(archive), "a.zip", limits);
  std::vector<std::pair<std::string, std::string>> result;
  for (const ArchiveEntry& entry : reader->entries()) {
    result.emplace_back(entry.name, text_of(reader->read_all(entry)));
    CHECK(text_from(*reader->source(entry)) == result.back().second);
  }
  return result;
}

std::string refusal(const std::string& archive, const ArchiveLimits& limits = {}) {
  return error_of([&] {
    try {
      contents_of(archive, limits);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      throw;
    }
  });
}

/// The archive with another text of the same length in place of each one.
std::string replaced(std::string archive, const std::string& text, const std::string& by) {
  for (std::size_t at = archive.find(text); at != archive.npos; at = archive.find(text, at + 1))
    archive.replace(at, by.size(), by);
  return archive;
}

/// The archive with other bits at a place of the first entry of its directory.
std::string with_bits(std::string archive, std::size_t place, std::uint8_t bits) {
  archive[archive.find("PK\1\2") + place] ^= static_cast<char>(bits);
  return archive;
}

/// Bytes of which reads are counted, and one of which may fail.
class CountedSource : public MemorySource {
 public:
  explicit CountedSource(std::string_view text, int failing = 0)
      : MemorySource(bytes_of(text), nullptr), failing_(failing) {}
  void read(std::uint64_t at, std::span<std::byte> out) override {
    check(++reads != failing_, ErrorKind::io, "disk", "broken");
    bytes += out.size();
    MemorySource::read(at, out);
  }

  int reads = 0;
  std::size_t bytes = 0;

 private:
  const int failing_;
};

/// Files in memory that can be written up to a number of bytes.
class FullDisk : public MemoryVfs {
 public:
  explicit FullDisk(std::size_t room) : room_(room) {}
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    class Sink : public FileSink {
     public:
      Sink(std::unique_ptr<FileSink> file, std::size_t& room) : file_(std::move(file)), room_(room) {}
      bool empty() const override { return file_->empty(); }
      void append(std::string_view bytes) override {
        check(bytes.size() <= room_, ErrorKind::io, "disk", "full");
        room_ -= bytes.size();
        file_->append(bytes);
      }
      void overwrite(std::uint64_t at, std::string_view bytes) override { file_->overwrite(at, bytes); }
      void flush() override { file_->flush(); }

     private:
      std::unique_ptr<FileSink> file_;
      std::size_t& room_;
    };
    return std::make_unique<Sink>(MemoryVfs::open(path, append), room_);
  }

 private:
  std::size_t room_;
};

}  // namespace

TEST_CASE("archive: files are read as they were written, whole or in pieces, stored or compressed", "[archive]") {
  const std::string text = long_text();
  const auto files = std::make_shared<MemoryVfs>();
  const auto writer = create_archive("a.zip", files);
  writer->add("größe/a.txt", "hello");
  writer->begin("b.bin", true, text.size());
  for (std::size_t at = 0; at < text.size(); at += 30'000) writer->append(std::string_view(text).substr(at, 30'000));
  writer->add("stored", text);
  writer->begin("empty", false, 0);
  writer->commit();
  const std::string archive = text_in(*files, "a.zip");
  CHECK(contents_of(archive) == std::vector<std::pair<std::string, std::string>>{
                                    {"größe/a.txt", "hello"}, {"b.bin", text}, {"stored", text}, {"empty", ""}});
  CHECK(archive.size() < text.size() * 3 / 2);

  const auto reader = open_archive(bytes_of(archive), "a.zip");
  const ArchiveEntry* entry = reader->find("b.bin");
  REQUIRE(entry != nullptr);
  CHECK(entry->size == text.size());
  CHECK(entry->compressed);
  CHECK(text_from(*reader->source(*entry)) == text);
  CHECK(reader->find("c") == nullptr);
  reader->open(*entry);
  std::vector<std::byte> piece(999);
  std::string read;
  for (std::size_t count = piece.size(); count == piece.size();)
    read += text_of(std::span(piece).first(count = reader->read(piece)));
  CHECK(read == text);
}

TEST_CASE("archive: of a large one, only the directory and the requested files are read", "[archive]") {
  const std::string large(1 << 20, 'x');
  const std::string archive = archive_of({{"large", large}, {"small", "hello"}, {"last", large}});
  const auto source = std::make_shared<CountedSource>(archive);
  const auto reader = open_archive(source, "a.zip");
  CHECK(text_of(reader->read_all(*reader->find("small"))) == "hello");
  CHECK(source->bytes < large.size() / 2);
  const auto part = reader->source(*reader->find("last"));  // compares the checksum
  const std::size_t before = source->bytes;
  std::string piece(1000, ' ');
  part->read(500'000, std::as_writable_bytes(std::span(piece)));
  CHECK(piece == large.substr(500'000, 1000));
  CHECK(source->bytes == before + piece.size());
}

TEST_CASE("archive: if its bytes cannot be read, the error is that of the source, at any read", "[archive][errors]") {
  const std::string archive = archive_of({{"a", std::string(200'000, 'x')}}, false);
  const auto read_all = [&](int failing) {
    const auto source = std::make_shared<CountedSource>(archive, failing);
    const auto reader = open_archive(source, "a.zip");
    reader->read_all(reader->entries().front());
    reader->source(reader->entries().front());
    return source->reads;
  };
  const int reads = read_all(0);
  CHECK(reads > 4);
  for (int failing = 1; failing <= reads; ++failing) CHECK(error_of([&] { read_all(failing); }) == "[disk] broken");
}

TEST_CASE("archive: the same contents give the same bytes", "[archive]") {
  CHECK(archive_of({{"a", "b"}, {"c", long_text()}}, true) == archive_of({{"a", "b"}, {"c", long_text()}}, true));
}

TEST_CASE("archive: it gets its name when it is complete; without commit() and after a failure nothing is left",
          "[archive]") {
  const auto files = std::make_shared<MemoryVfs>();
  files->open("a.zip", false)->append("previous");
  create_archive("a.zip", files)->add("a", long_text());
  CHECK(files->list(".") == std::vector<std::string>{"a.zip"});
  CHECK(text_in(*files, "a.zip") == "previous");

  const auto full = std::make_shared<FullDisk>(70'000);
  CHECK(error_of([&] {
          const auto writer = create_archive("a.zip", full);
          writer->add("a", long_text());
          writer->commit();
        }) == "[disk] full");
  CHECK(full->list(".").empty());
}

TEST_CASE("archive: the writer refuses names that the reader refuses", "[archive][errors]") {
  const auto writer = create_archive("a.zip", std::make_shared<MemoryVfs>());
  const auto error = [&](const std::string& name) { return error_of([&] { writer->add(name, "x"); }); };
  CHECK(error("a") == "no error");
  CHECK_THAT(error("a"), ContainsSubstring("two files \"a\""));
  for (const char* name : {"", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "\xFF"})
    CHECK_THAT(error(name), ContainsSubstring("with a name that"));
}

TEST_CASE("archive: names that leave a folder, or are not unique, are refused", "[archive][errors]") {
  const std::string archive = archive_of({{"aa/bb", "x"}, {"aa/cc", "y"}});
  for (const char* name : {"../bb", "/a/bb", "aa//b", "aa/..", "./abb", "aa\\bb", "aa/b\xFF"})
    CHECK_THAT(refusal(replaced(archive, "aa/bb", name)), ContainsSubstring("[a.zip] file 0 has a name that"));
  CHECK_THAT(refusal(replaced(archive, "aa/cc", "aa/bb")), ContainsSubstring("two files \"aa/bb\""));
  CHECK(contents_of(replaced(archive_of({{"aa/bb", ""}, {"c", "y"}}), "aa/bb", "aa/b/")).size() == 1);  // a folder
  CHECK_THAT(refusal(replaced(archive, "aa/bb", "aa/b/")), ContainsSubstring("a folder with contents"));
}

TEST_CASE("archive: files of the same bytes, of others' bytes or of the directory's are refused", "[archive][errors]") {
  const std::string archive = archive_of({{"a", "xx"}, {"b", "xx"}});
  const std::size_t record = archive.find("PK\1\2"), second = archive.find("PK\1\2", record + 1);
  constexpr std::size_t offset = 42;
  const auto with_place = [&](std::uint8_t place) {
    std::string changed = archive;
    changed[second + offset] = static_cast<char>(place);
    return refusal(changed);
  };
  const auto begin = static_cast<std::uint8_t>(archive[second + offset]);
  CHECK(with_place(begin) == "no error");
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}, begin - std::size_t{1}, record})
    CHECK_THAT(with_place(static_cast<std::uint8_t>(place)), ContainsSubstring("files that overlap"));
}

TEST_CASE("archive: encrypted files, symbolic links and other methods are refused", "[archive][errors]") {
  const std::string archive = archive_of({{"a", "x"}});
  CHECK_THAT(refusal(with_bits(archive, 8, 1)), ContainsSubstring("\"a\" is encrypted"));
  CHECK_THAT(refusal(with_bits(archive, 10, 12)), ContainsSubstring("compressed by method 12"));
  CHECK_THAT(refusal(with_bits(archive, 41, 0xA0)), ContainsSubstring("\"a\" is a symbolic link"));
  CHECK(refusal(with_bits(archive, 41, 0x80)) == "no error");  // a file
}

TEST_CASE("archive: what expands beyond the limits is refused before it is expanded", "[archive][errors]") {
  const std::string zeros = archive_of({{"a", std::string(2 << 20, '\0')}}, true);
  CHECK_THAT(refusal(zeros), ContainsSubstring("with \"a\"") && ContainsSubstring("expand to more than 1048576"));
  CHECK(refusal(zeros, {.expanded = 2 << 20}) == "no error");
  CHECK_THAT(refusal(archive_of({{"a", ""}, {"b", ""}}), {.entries = 1}),
             ContainsSubstring("2 files - expected at most 1"));
  CHECK_THAT(refusal(with_bits(archive_of({{"a", "xy"}}), 24, 1)), ContainsSubstring("two different sizes"));
}

TEST_CASE("archive: with a bit of any byte changed it is refused, or its files have the same contents",
          "[archive][errors]") {
  const std::vector<std::pair<std::string, std::string>> files{{"a", "hello"}, {"b", std::string(50, 'x')}};
  const std::string stored = archive_of(files), compressed = archive_of(files, true);
  std::size_t refused = 0;
  for (const std::string& archive : {stored, compressed}) {
    for (std::size_t at = 0; at < archive.size(); ++at) {
      std::string changed = archive;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      try {
        for (const auto& [name, text] : contents_of(changed)) {
          if (text != files[0].second && text != files[1].second) FAIL("byte " << at << ": " << text);
        }
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) FAIL("byte " << at << ": " << error.what());
        ++refused;
      }
    }
    CHECK_THAT(refusal(archive.substr(0, archive.size() - 1)), ContainsSubstring("expected a whole ZIP archive"));
  }
  CHECK(refused > 200);
}

}  // namespace etude
