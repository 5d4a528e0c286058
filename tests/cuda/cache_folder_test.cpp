#include "cuda/cache_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include "environment_variable.hpp"
#include "etude/base/memory_vfs.hpp"

namespace etude {

using cuda::CacheFolder;
using testing::EnvironmentVariable;

TEST_CASE("the user's cache folder is that of the environment, else one in the home folder", "[cuda]") {
  const EnvironmentVariable home("HOME", "/home/me");
  const EnvironmentVariable cache("XDG_CACHE_HOME", nullptr);
  const EnvironmentVariable own("ETUDE_CACHE", nullptr);
  CHECK(cuda::cache_folder("programs") == "/home/me/.cache/etude/programs");
  const EnvironmentVariable chosen("XDG_CACHE_HOME", "/cache");
  CHECK(cuda::cache_folder("programs") == "/cache/etude/programs");
  {
    const EnvironmentVariable none("ETUDE_CACHE", "");
    CHECK(cuda::cache_folder("programs").empty());
  }
  const EnvironmentVariable named("ETUDE_CACHE", "/mine");
  CHECK(cuda::cache_folder("programs") == "/mine/programs");
}

TEST_CASE("a body is read for its own header only, and a folder without a name stores nothing", "[cuda]") {
  const auto files = std::make_shared<MemoryVfs>();
  CacheFolder folder(files, "cache", ".txt", 8), none(files, "", ".txt", 8);
  folder.write("one", "first");
  folder.write("two", "second");
  folder.write("one", "third");
  none.write("one", "fourth");
  CHECK(folder.read("one") == "third");
  CHECK(folder.read("two") == "second");
  CHECK_FALSE(folder.read("three"));
  CHECK_FALSE(none.read("one"));
  CHECK(folder.exists());
  CHECK_FALSE(none.exists());
  CHECK(files->list("cache").size() == 2);
}

}  // namespace etude
