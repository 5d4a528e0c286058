#include "cuda/choices.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <thread>
#include <vector>

#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/memory_vfs.hpp"
#include "safetensors_samples.hpp"
#include "scratch_folder.hpp"

namespace etude {
namespace {

using cuda::Choices;

/// The choice of a later process for a kind.
std::optional<std::string> kept(const std::shared_ptr<Vfs>& files, const std::string& kind,
                                const std::string& measured_with = "GPU") {
  return Choices(measured_with, files, "c").find(kind);
}

}  // namespace

TEST_CASE("a process has one choice for a kind, the first one, and later processes read it if it was measured",
          "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  Choices choices("GPU", files, "c");
  CHECK_FALSE(choices.find("product"));
  CHECK(choices.keep("product", "one", true) == "one");
  CHECK(choices.keep("product", "two", true) == "one");
  CHECK(choices.keep("convolution", "ours", false) == "ours");
  CHECK(choices.keep("convolution", "theirs", true) == "ours");
  CHECK(choices.find("product") == "one");
  CHECK(choices.find("convolution") == "ours");
  CHECK(kept(files, "product") == "one");
  CHECK_FALSE(kept(files, "convolution"));
}

TEST_CASE("a choice that is refused is replaced, for later processes too", "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  Choices("GPU", files, "c").keep("product", "stale", true);
  Choices choices("GPU", files, "c");
  CHECK(choices.find("product") == "stale");
  CHECK(choices.keep("product", "new", true, "stale") == "new");
  CHECK(choices.keep("product", "newer", true, "stale") == "new");  // another GPU of the process was first
  CHECK(kept(files, "product") == "new");
}

TEST_CASE("choices of another model, or with other versions, are others", "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  Choices("GPU\ncuBLASLt 1", files, "c").keep("product", "one", true);
  CHECK_FALSE(kept(files, "product", "GPU\ncuBLASLt 2"));
  CHECK_FALSE(kept(files, "product", "another GPU\ncuBLASLt 1"));
  Choices("GPU\ncuBLASLt 2", files, "c").keep("product", "two", true);
  CHECK(kept(files, "product", "GPU\ncuBLASLt 1") == "one");
  CHECK(kept(files, "product", "GPU\ncuBLASLt 2") == "two");
}

TEST_CASE("processes that measure at the same time keep each other's choices, and the later one for the same kind",
          "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  Choices one("GPU", files, "c"), other("GPU", files, "c");
  CHECK_FALSE(one.find("a"));
  CHECK_FALSE(other.find("a"));  // both have read the file
  one.keep("a", "of one", true);
  other.keep("b", "of other", true);
  other.keep("a", "of other", true);
  one.keep("c", "of one", true);
  CHECK(one.find("a") == "of one");
  CHECK(other.find("a") == "of other");
  CHECK(kept(files, "a") == "of one");  // a process rewrites all its own choices
  CHECK(kept(files, "b") == "of other");
  CHECK(kept(files, "c") == "of one");
}

TEST_CASE("threads that measure the same kinds get the same choices", "[cuda][choices]") {
  Choices choices("GPU");
  constexpr int kinds = 200;
  std::vector<std::vector<std::string>> got(4);
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < got.size(); ++me)
    threads.emplace_back([&, me] {
      for (int kind = 0; kind < kinds; ++kind)
        got[me].push_back(choices.keep(std::to_string(kind), std::to_string(me), true));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) CHECK(one == got[0]);
}

TEST_CASE("a damaged file of choices is ignored, and written again", "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  Choices("GPU", files, "c").keep("product", "one", true);
  const std::string path = "c/" + files->list("c").front(), sound = testing::text_in(*files, path);
  for (std::size_t i = 0; i < sound.size(); ++i) {
    CAPTURE(i);
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    for (const std::string& text : {damaged, sound.substr(0, i), sound + sound.substr(0, i + 1)}) {
      files->replace(path, {text});
      CHECK_FALSE(kept(files, "product"));
      Choices("GPU", files, "c").keep("product", "one", true);
      CHECK(testing::text_in(*files, path) == sound);
    }
  }
}

TEST_CASE("if any call for the file of choices fails, the process still has its choices", "[cuda][choices]") {
  const testing::ScratchFolder scratch("etude_choices");
  for (const bool is_there : {false, true})
    for (int failing = 1, calls = failing; calls >= failing; ++failing) {
      CAPTURE(is_there, failing);
      const std::string folder = scratch.path() + '/' + std::to_string(failing) + (is_there ? "there" : "");
      if (is_there) Choices("GPU", system_vfs(), folder).keep("before", "one", true);
      calls = 0;
      Choices choices("GPU", system_vfs([&](std::string_view, std::size_t&) { return ++calls == failing ? EIO : 0; }),
                      folder);
      CHECK(choices.keep("after", "two", true) == "two");
      CHECK(choices.find("after") == "two");
    }
}

TEST_CASE("the file of choices does not grow without bound: the latest ones stay", "[cuda][choices]") {
  const auto files = std::make_shared<MemoryVfs>();
  const auto number = [](std::size_t i) { return std::to_string(100'000 + i); };
  {
    // A full file, written at once: normally each choice is written in turn.
    std::string body;
    for (std::size_t i = 0; i < Choices::most; ++i) body += number(i) + "\tone\n";
    cuda::CacheFolder(files, "c", ".choices", 64).write("GPU", body);
  }
  CHECK(kept(files, number(0)) == "one");
  Choices choices("GPU", files, "c");
  choices.keep("new", "two", true);
  choices.keep(std::string(Choices::longest, 'x'), "three", true);
  CHECK(choices.find(std::string(Choices::longest, 'x')) == "three");
  CHECK(kept(files, "new") == "two");
  CHECK_FALSE(kept(files, number(0)));
  CHECK(kept(files, number(1)) == "one");
  CHECK_FALSE(kept(files, std::string(Choices::longest, 'x')));
}

}  // namespace etude
