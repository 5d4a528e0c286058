#include <unistd.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <map>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/detail/inflate.hpp"
#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/error.hpp"
#include "etude/base/memory_vfs.hpp"
#include "etude/base/random.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

/// A folder of the system's files, and one in memory: both behave alike.
struct Places {
  ScratchFolder scratch{"etude_vfs_test"};
  struct Place {
    std::shared_ptr<Vfs> files;
    std::string folder;
  };
  std::vector<Place> all{{system_vfs(), scratch.path()}, {std::make_shared<MemoryVfs>(), "."}};
};

std::string text_of(Vfs& files, const std::string& path) {
  const auto bytes = files.read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write(Vfs& files, const std::string& path, std::string_view text) {
  const auto file = files.open(path, false);
  file->append(text);
  file->sync();
}

ErrorKind kind_of_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

}  // namespace

TEST_CASE("files: pieces are read as a whole, in order, and can be appended to", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const std::string path = folder + "/a";
    const std::string large(200'000, 'x');
    {
      const auto file = files->open(path, false);
      CHECK(file->empty());
      file->append("one ");
      file->append(large);
      file->append(" two");
      file->flush();
      CHECK(text_of(*files, path) == "one " + large + " two");
    }
    CHECK(files->size(path) == large.size() + 8);
    {
      const auto file = files->open(path, true);
      CHECK_FALSE(file->empty());
      file->append("!");  // closing writes the rest
    }
    CHECK(text_of(*files, path) == "one " + large + " two!");
    CHECK(files->open(path, false)->empty());
    CHECK(files->size(path) == 0);
    CHECK(files->read(path).empty());
  }
}

TEST_CASE("files: any part of a file, or of a part of it, is read at its place", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    write(*files, folder + "/a", "0123456789");
    const std::shared_ptr<FileSource> whole = files->source(folder + "/a");
    PartSource part(whole, 2, 6);
    const auto text_at = [](FileSource& source, std::uint64_t at, std::size_t size) {
      std::string text(size, ' ');
      source.read(at, std::as_writable_bytes(std::span(text)));
      return text;
    };
    CHECK(whole->size() == 10);
    CHECK(text_at(*whole, 3, 4) == "3456");
    CHECK(text_at(part, 0, 6) == "234567");
    CHECK(text_at(part, 6, 0).empty());
    for (const std::uint64_t at : {std::uint64_t{3}, std::uint64_t{7}, ~std::uint64_t{0}})
      CHECK(kind_of_error([&] { text_at(part, at, 4); }) == ErrorKind::io);
    CHECK(kind_of_error([&] { text_at(*whole, 8, 3); }) == ErrorKind::io);
    CHECK(kind_of_error([&] { PartSource(whole, 5, 6); }) == ErrorKind::io);
  }
}

TEST_CASE("files: appended bytes can be overwritten, and appending continues at the end", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const auto file = files->open(folder + "/a", false);
    file->append("rows: ?? ");
    file->overwrite(6, "12");
    file->append("end");
    file->flush();
    CHECK(text_of(*files, folder + "/a") == "rows: 12 end");
  }
}

TEST_CASE("files: a replacement gets its name when it is complete; without commit() or after a failure nothing is left",
          "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const std::string path = folder + "/a";
    write(*files, path, "old");
    files->make_folder(folder + "/folder");
    FileReplacement(*files, path).file().append("lost");
    CHECK(text_of(*files, path) == "old");
    CHECK_THAT(error_of([&] { FileReplacement(*files, folder + "/folder").commit(); }),
               ContainsSubstring("folder\" cannot be renamed to"));
    CHECK(files->list(folder) == Names{"a", "folder"});
    FileReplacement made(*files, path);
    made.file().append("new");
    CHECK(text_of(*files, path) == "old");
    made.commit();
    CHECK(text_of(*files, path) == "new");
    CHECK(files->list(folder) == Names{"a", "folder"});
  }
}

TEST_CASE("files: a replacement that cannot be opened changes nothing", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const std::string kept = folder + "/a.tmp/kept";
    files->make_folder(folder + "/a.tmp");
    write(*files, kept, "another file");
    CHECK_THROWS_AS(FileReplacement(*files, folder + "/a"), Error);
    CHECK(text_of(*files, kept) == "another file");
  }
}

TEST_CASE("files: a rename replaces a file atomically, and moves a folder with its contents", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    write(*files, folder + "/a", "old");
    write(*files, folder + "/b", "new");
    files->rename(folder + "/b", folder + "/a");
    CHECK(text_of(*files, folder + "/a") == "new");
    CHECK_FALSE(files->exists(folder + "/b"));

    files->make_folders(folder + "/d/e");
    write(*files, folder + "/d/e/f", "deep");
    files->rename(folder + "/d", folder + "/g");
    CHECK(text_of(*files, folder + "/g/e/f") == "deep");
    CHECK(files->kind(folder + "/d") == PathKind::none);
    files->make_folder(folder + "/h");
    write(*files, folder + "/h/i", "");
    CHECK_THAT(error_of([&] { files->rename(folder + "/g", folder + "/h"); }),
               ContainsSubstring("cannot be renamed to"));
  }
}

TEST_CASE("files: folders list their names in order, are removed if empty, and trees with their contents", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    files->make_folders(folder + "/x/y", true);
    files->make_folders(folder + "/x/y", true);
    for (const char* name : {"/x/c", "/x/a", "/x/y/z"}) write(*files, folder + name, name);
    CHECK(files->list(folder + "/x") == Names{"a", "c", "y"});
    CHECK(files->kind(folder + "/x/y") == PathKind::folder);
    CHECK(files->kind(folder + "/x/a") == PathKind::file);
    CHECK_THAT(error_of([&] { files->remove(folder + "/x"); }), ContainsSubstring("cannot be removed"));
    files->sync_folder(folder + "/x");
    files->remove(folder + "/x/a");
    CHECK(files->list(folder + "/x") == Names{"c", "y"});
    files->remove_tree(folder + "/x");
    CHECK_FALSE(files->exists(folder + "/x"));
    files->remove_tree(folder + "/x");
  }
}

TEST_CASE("files: a missing file, or one of another kind, is an Error(io) that names the path", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const std::string none = folder + "/none", inside = none + "/file";
    files->make_folder(folder + "/folder");
    write(*files, folder + "/file", "");
    const std::map<std::string, std::function<void()>> wrong{
        {"none\" cannot be read", [&] { files->read(none); }},
        {"none\" cannot be read: ", [&] { files->size(none); }},
        {"none\" cannot be read: N", [&] { files->list(none); }},
        {"none\" cannot be read: No", [&] { files->source(none); }},
        {"folder\" cannot be read: ", [&] { files->source(folder + "/folder"); }},
        {"file\" cannot be opened", [&] { files->open(inside, false); }},
        {"folder\" cannot be opened", [&] { files->open(folder + "/folder", true); }},
        {"folder\" cannot be read", [&] { files->read(folder + "/folder"); }},
        {"none\" cannot be removed", [&] { files->remove(none); }},
        {"none\" cannot be synced", [&] { files->sync_folder(none); }},
        {"cannot be renamed to", [&] { files->rename(none, folder + "/other"); }},
        {"file\" cannot be made", [&] { files->make_folder(folder + "/file"); }},
        {"file\" cannot be made: ", [&] { files->make_folder(inside); }}};
    for (const auto& [text, action] : wrong) {
      CHECK_THAT(error_of(action), ContainsSubstring(text) && ContainsSubstring(" - check the path."));
      CHECK(kind_of_error(action) == ErrorKind::io);
    }
  }
}

TEST_CASE("files: a lock that is held is refused at once, and is free after its release", "[vfs]") {
  for (const auto& [files, folder] : Places().all) {
    const std::string path = folder + "/LOCK";
    auto held = files->lock(path);
#ifndef __EMSCRIPTEN__  // whose system has no locks
    CHECK_THAT(error_of([&] { files->lock(path); }), ContainsSubstring("LOCK\" is locked by another "));
    CHECK(kind_of_error([&] { files->lock(path); }) == ErrorKind::state);
#endif
    held.reset();
    held = files->lock(path);
    CHECK(held);
  }
}

#ifndef __EMSCRIPTEN__
TEST_CASE("files: a lock that a living process of Node.js holds is refused, and Node.js can read who holds one",
          "[vfs]") {
  const ScratchFolder scratch("etude_vfs_test");
  const auto files = system_vfs();
  const std::string path = scratch.path() + "/LOCK";
  write(*files, path, std::to_string(::getppid()));  // as web/src/system_files.ts
  CHECK_THAT(error_of([&] { files->lock(path); }), ContainsSubstring("LOCK\" is locked by another "));
  write(*files, path, "2147483647");  // a process that has ended
  auto held = files->lock(path);
  CHECK(text_of(*files, path) == std::to_string(::getpid()) + " native");
  held.reset();
  CHECK(text_of(*files, path).empty());
}
#endif

TEST_CASE("files: removing a tree removes links in it, not their targets", "[vfs]") {
  const ScratchFolder scratch("etude_vfs_test");
  const auto files = system_vfs();
  files->make_folders(scratch.path() + "/kept");
  write(*files, scratch.path() + "/kept/file", "here");
  files->make_folder(scratch.path() + "/tree");
  std::filesystem::create_directory_symlink("../kept", scratch.path() + "/tree/link");
  files->remove_tree(scratch.path() + "/tree");
  CHECK(files->list(scratch.path()) == Names{"kept"});
  CHECK(text_of(*files, scratch.path() + "/kept/file") == "here");
  std::filesystem::create_directory_symlink("kept", scratch.path() + "/run");
  files->make_folders(scratch.path() + "/run/checkpoints");
  CHECK(files->list(scratch.path() + "/kept") == Names{"checkpoints", "file"});
}

TEST_CASE("files: interrupted calls are repeated, short reads and writes continued", "[vfs]") {
  const ScratchFolder scratch("etude_vfs_test");
  int calls = 0;
  const auto files = system_vfs([&](std::string_view, std::size_t& bytes) {
    bytes = std::min<std::size_t>(bytes, 1000);
    return ++calls % 3 == 0 ? EINTR : 0;
  });
  std::string text(100'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  write(*files, scratch.path() + "/a", text);
  CHECK(text_of(*files, scratch.path() + "/a") == text);
  std::string part(5000, ' ');
  files->source(scratch.path() + "/a")->read(500, std::as_writable_bytes(std::span(part)));
  CHECK(part == text.substr(500, 5000));
  CHECK(calls > 200);
  const auto file = files->open(scratch.path() + "/a", false);
  file->append(text);
  file->overwrite(100, std::string(50'000, 'x'));
  CHECK(text_of(*files, scratch.path() + "/a") == text.replace(100, 50'000, 50'000, 'x'));
}

TEST_CASE("files: paths in memory are normalised as in the system", "[vfs]") {
  MemoryVfs files;
  files.make_folders("/a//b/");
  write(files, "a/./b/c", "text");
  CHECK(text_of(files, "./a/b//c") == "text");
  CHECK(files.list("/") == Names{"a"});
  MemoryVfs copy = files;
  write(files, "a/b/c", "other");
  CHECK(text_of(copy, "a/b/c") == "text");
  CHECK(parent_of("a/b") == "a");
  CHECK(parent_of("/a") == "/");
  CHECK(parent_of("a") == ".");
  CHECK(parent_of("a//b//") == "a");
  CHECK(parent_of("/") == "/");
}

TEST_CASE("CRC-32C matches RFC 3720, in pieces too, by the processor and by tables", "[vfs]") {
  for (const auto sum : {+[](std::string_view bytes, std::uint32_t before) { return crc32c(bytes, before); },
                         &detail::crc32c_by_table}) {
    CHECK(sum("123456789", 0) == 0xE3069283);
    CHECK(sum("", 0) == 0);
    CHECK(sum(std::string(32, '\0'), 0) == 0x8A9136AA);
    CHECK(sum(std::string(32, '\xFF'), 0) == 0x62A8AB43);
    CHECK(sum("6789", sum("12345", 0)) == 0xE3069283);
  }
  Random random(5, RandomStream::step);
  std::string text(1000, ' ');
  for (char& c : text) c = static_cast<char>(random.bits());
  for (std::size_t begin = 0; begin < 20; ++begin)
    for (std::size_t size : {0u, 1u, 7u, 8u, 9u, 63u, 500u, 979u}) {
      const std::string_view part = std::string_view(text).substr(begin, size);
      CHECK(crc32c(part) == detail::crc32c_by_table(part));
    }
}

TEST_CASE("DEFLATE data is decompressed if it fills its memory exactly, and is otherwise refused", "[vfs]") {
  // zlib.compress(b"abc" * 6) of Python 3.11.
  const unsigned char file[]{0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x4e, 0x44, 0x45, 0x00, 0x41, 0x7c, 0x06, 0xe5};
  std::string text(18, ' ');
  const auto in = std::as_bytes(std::span(file));
  const auto out = std::as_writable_bytes(std::span(text));
  CHECK(inflate_zlib(in, out));
  CHECK(text == "abcabcabcabcabcabc");
  CHECK_FALSE(inflate_zlib(in, out.first(17)));
  CHECK_FALSE(inflate_zlib(in.first(12), out));
  std::string longer(19, ' ');
  CHECK_FALSE(inflate_zlib(in, std::as_writable_bytes(std::span(longer))));
}

TEST_CASE("vfs: a path with a NUL byte is an Error, and the file named by its first part does not change", "[vfs]") {
  const ScratchFolder scratch("etude_nul_test");
  const std::shared_ptr<Vfs> files = system_vfs();
  const std::string victim = scratch.path() + "/victim", path = victim + std::string("\0.safetensors", 13);
  files->replace(victim, {"all is well"});
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { files->read(path); }, [&] { files->source(path); }, [&] { files->size(path); },
           [&] { files->open(path, false); }, [&] { files->open(path, true); }, [&] { files->sync_folder(path); },
           [&] { files->rename(path, victim); }, [&] { files->rename(victim, path); }, [&] { files->remove(path); },
           [&] { files->list(path); }, [&] { files->make_folder(path); }, [&] { files->kind(path); },
           [&] { files->lock(path); }, [&] { files->replace(path, {"x"}); },
           [&] { files->make_folders(path + "/a"); }}) {
    CHECK(kind_of(action) == ErrorKind::io);
    CHECK_THAT(error_of(action), ContainsSubstring("a NUL byte follows"));
  }
  CHECK(files->list(scratch.path()) == Names{"victim"});
  CHECK(files->size(victim) == 11);
}

}  // namespace etude
