#include "cuda/shared_library.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "environment_variable.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

namespace etude {

TEST_CASE("a library of the vendor is found among Python's packages, with its path", "[cuda]") {
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

namespace {

/// Creates a library of that name in a folder of Python packages.
void install(const std::string& packages, const std::string& name) {
  const std::string folder = packages + "/nvidia/cu99/lib";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(cuda::SharedLibrary("the C library", {"libc.so.6"}).path(), folder + "/" + name);
}

bool is_found(const char* name) {
  return !testing::kind_of([&] { cuda::SharedLibrary("the vendor's library", {name}); });
}

}  // namespace

TEST_CASE("a library of the vendor is found in the packages of a python3 on PATH whose environment is not active",
          "[cuda]") {
  const testing::ScratchFolder scratch("etude_path");
  install(scratch.path() + "/lib/python3.99/site-packages", "libetude_beside.so.7");
  const std::string bin = scratch.path() + "/bin";
  std::filesystem::create_directories(bin);
  const testing::EnvironmentVariable path("PATH", ("/nowhere::" + bin + ":/usr/bin").c_str());
  CHECK_FALSE(is_found("libetude_beside.so.7"));  // no python3 yet
  std::filesystem::create_symlink("/bin/true", bin + "/python3");
  CHECK(is_found("libetude_beside.so.7"));
}

TEST_CASE("a library of the vendor is found in each folder of PYTHONPATH", "[cuda]") {
  const testing::ScratchFolder scratch("etude_pythonpath");
  install(scratch.path() + "/one", "libetude_one.so.7");
  install(scratch.path() + "/two", "libetude_two.so.7");
  const testing::EnvironmentVariable path("PYTHONPATH", (scratch.path() + "/one:" + scratch.path() + "/two").c_str());
  CHECK(is_found("libetude_one.so.7"));
  CHECK(is_found("libetude_two.so.7"));
}

}  // namespace etude
