#include "cuda/shared_library.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "environment_variable.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

namespace etude {

TEST_CASE("a library of the vendor is found among Python's packages, and says where it lies", "[cuda]") {
  const cuda::SharedLibrary system("the C library", {"libc.so.6"});
  CHECK_THAT(system.path(), Catch::Matchers::EndsWith("/libc.so.6"));
  const testing::ScratchFolder scratch("etude_packages");
  const std::string folder = scratch.path() + "/lib/python3.99/site-packages/nvidia/cu99/lib";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(system.path(), folder + "/libetude_vendor.so.7");
  const testing::EnvironmentVariable environment("VIRTUAL_ENV", scratch.path().c_str());
  const cuda::SharedLibrary packaged("the vendor's library", {"libetude_vendor.so.8", "libetude_vendor.so.7"});
  CHECK_THAT(testing::error_of([] { cuda::SharedLibrary("the vendor's library", {"libetude_vendor.so.8"}); }),
             Catch::Matchers::StartsWith("[Cuda] no the vendor's library - expected libetude_vendor.so.8 where"));
  const std::vector<std::pair<std::string, std::string>> loaded = cuda::SharedLibrary::loaded();
  CHECK(std::ranges::count(loaded, std::pair(std::string("the C library"), system.path())) == 1);
  CHECK(std::ranges::count(loaded, std::pair(std::string("the vendor's library"), packaged.path())) == 1);
  std::size_t (*length)(const char*) = nullptr;
  packaged.find(length, "strlen");
  CHECK(length("seven") == 5);
}

}  // namespace etude
