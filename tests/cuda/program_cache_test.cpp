#include "cuda/program_cache.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <thread>

#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/error.hpp"
#include "etude/base/memory_vfs.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

namespace etude {
namespace {

using cuda::ProgramCache;

/// A compiler whose result contains the text and the architecture, and that counts its calls.
struct Compiler {
  std::atomic<int> calls = 0;
  ProgramCache::Compile compile = [this](const std::string& source, int architecture) {
    ++calls;
    if (source == "wrong") fail(ErrorKind::internal, "Compiler", "wrong - expected right - correct it.");
    return expected(source, architecture);
  };
  static std::vector<char> expected(const std::string& source, int architecture) {
    std::vector<char> cubin(source.begin(), source.end());
    cubin.push_back('\0');
    cubin.push_back(static_cast<char>(architecture));
    return cubin;
  }
};

void check_cubins(ProgramCache& cache, const std::vector<std::string>& sources, int architecture = 90) {
  const auto cubins = cache.cubins(sources, architecture);
  REQUIRE(cubins.size() == sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) CHECK(*cubins[i] == Compiler::expected(sources[i], architecture));
}

std::vector<std::string> texts(int count) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) result.push_back("program " + std::to_string(i));
  return result;
}

}  // namespace

TEST_CASE("a process compiles each program once, for any threads", "[cuda][program_cache]") {
  Compiler compiler;
  ProgramCache cache(compiler.compile, "1");
  const std::vector<std::string> once = texts(20);
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto cubins = cache.cubins(twice, 90);
      for (std::size_t at = 0; at < twice.size(); ++at) right += *cubins[at] == Compiler::expected(twice[at], 90);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 160);
  CHECK(compiler.calls == 20);
  check_cubins(cache, twice, 80);
  CHECK(compiler.calls == 40);
  CHECK(cache.cubins({}, 90).empty());
}

TEST_CASE("a program that does not compile is an error for all callers, and each later call compiles it again",
          "[cuda][program_cache]") {
  Compiler compiler;
  const auto files = std::make_shared<MemoryVfs>();
  ProgramCache cache(compiler.compile, "1", files, "programs");
  for (int attempt = 0; attempt < 2; ++attempt)
    CHECK(testing::error_of([&] { cache.cubins(std::vector<std::string>{"a", "wrong", "b"}, 90); }) ==
          "[Compiler] wrong - expected right - correct it.");
  check_cubins(cache, {"a", "b"});
}

TEST_CASE("a user's programs are compiled once for all processes", "[cuda][program_cache]") {
  Compiler compiler;
  const auto files = std::make_shared<MemoryVfs>();
  const auto compiled_by_a_process = [&](const std::string& version, int architecture) {
    const int before = compiler.calls;
    ProgramCache cache(compiler.compile, version, files, "cache/programs");
    check_cubins(cache, texts(10), architecture);
    return compiler.calls - before;
  };
  CHECK(compiled_by_a_process("1", 90) == 10);
  CHECK(compiled_by_a_process("1", 90) == 0);
  CHECK(compiled_by_a_process("1", 80) == 10);
  CHECK(compiled_by_a_process("2", 90) == 10);
  CHECK(compiled_by_a_process("1", 90) == 0);
  CHECK(files->list("cache/programs").size() == 30);
}

TEST_CASE("a damaged file of a program is replaced", "[cuda][program_cache]") {
  Compiler compiler;
  const auto files = std::make_shared<MemoryVfs>();
  const auto ask = [&](const std::string& source) {
    ProgramCache cache(compiler.compile, "1", files, "p");
    check_cubins(cache, {source});
  };
  ask("one");
  const std::string path = "p/" + files->list("p").front();
  const std::vector<std::byte> sound = files->read(path);
  const auto write = [&](const std::vector<std::byte>& bytes) {
    files->replace(path, {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  };
  for (std::size_t i = 0; i < sound.size(); ++i) {
    CAPTURE(i);
    std::vector<std::byte> damaged = sound;
    damaged[i] ^= std::byte{1};
    for (const auto& bytes : {damaged, std::vector(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(i))}) {
      write(bytes);
      const int before = compiler.calls;
      ask("one");
      CHECK(compiler.calls == before + 1);
      CHECK(files->read(path) == sound);
    }
  }
  const int before = compiler.calls;
  files->remove(path);
  files->make_folder(path);
  ask("one");
  ask("one");
  CHECK(compiler.calls == before + 2);
}

TEST_CASE("if any call for a program's file fails, the program is compiled", "[cuda][program_cache]") {
  const testing::ScratchFolder scratch("etude_programs");
  for (const bool is_there : {false, true})
    for (int failing = 1, calls = failing; calls >= failing; ++failing) {
      CAPTURE(is_there, failing);
      const std::string folder = scratch.path() + '/' + std::to_string(failing) + (is_there ? "there" : "");
      Compiler compiler;
      if (is_there) {
        ProgramCache cache(compiler.compile, "1", system_vfs(), folder);
        check_cubins(cache, {"one"});
      }
      calls = 0;
      ProgramCache cache(compiler.compile, "1",
                         system_vfs([&](std::string_view, std::size_t&) { return ++calls == failing ? EIO : 0; }),
                         folder);
      check_cubins(cache, {"one"});
    }
}

TEST_CASE("the folder of programs does not grow without bound", "[cuda][program_cache]") {
  Compiler compiler;
  const auto files = std::make_shared<MemoryVfs>();
  for (int run = 0; run < 3; ++run) {
    ProgramCache cache(compiler.compile, std::to_string(run), files, "p");
    check_cubins(cache, texts(3000));
  }
  CHECK(files->list("p").size() == 3000);
}

}  // namespace etude
