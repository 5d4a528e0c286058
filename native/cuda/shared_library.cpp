#include "cuda/shared_library.hpp"

#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace etude::cuda {
namespace {

/// Calls use(folder) with each folder in a variable of the environment, in the format of PATH.
template <class Use> void each_listed(const char* variable, Use use) {
  const char* const text = std::getenv(variable);
  for (std::string_view left = text ? text : ""; !left.empty();) {
    const std::size_t end = std::min(left.find(':'), left.size());
    if (end > 0) use(std::string(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
}

/// The folders of Python packages, as patterns of glob(3): first those of the python3 on PATH.
std::vector<std::string> package_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, const char* below) {
    if (const char* prefix = std::getenv(variable)) folders.push_back(prefix + std::string(below));
  };
  each_listed("PYTHONPATH", [&](const std::string& folder) { folders.push_back(folder); });
  add("VIRTUAL_ENV", "/lib/python3*/site-packages");
  add("CONDA_PREFIX", "/lib/python3*/site-packages");
  each_listed("PATH", [&](const std::string& folder) {
    if (::access((folder + "/python3").c_str(), X_OK) == 0)
      folders.push_back(folder + "/../lib/python3*/site-packages");
  });
  add("HOME", "/.local/lib/python3*/site-packages");
  for (const char* folder : {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
                             "/usr/lib/python3*/dist-packages", "/opt/conda/lib/python3*/site-packages"})
    folders.emplace_back(folder);
  return folders;
}

void* open_packaged(const char* name) {
  void* handle = nullptr;
  for (const std::string& folder : package_folders()) {
    glob_t found{};
    if (glob((folder + "/nvidia/*/lib/" + name).c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc && !handle; ++i)
        handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    if (handle) break;
  }
  return handle;
}

struct Loaded {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> libraries;
};
Loaded& all_loaded() {
  static Loaded& loaded = *new Loaded;  // never destroyed: used until exit
  return loaded;
}

}  // namespace

SharedLibrary::SharedLibrary(const char* what, std::initializer_list<const char*> names) : what_(what) {
  for (const char* name : names)
    if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  for (const char* name : names)
    if (!handle_) handle_ = open_packaged(name);
  check(handle_ != nullptr, ErrorKind::state, "Cuda", "no ", what_, " - expected ", *names.begin(),
        " where the system looks for libraries, or in a Python package of NVIDIA's - install ", what_,
        " or add its folder to LD_LIBRARY_PATH.");
  const std::lock_guard lock(all_loaded().mutex);
  all_loaded().libraries.emplace_back(what_, path());
}

std::vector<std::pair<std::string, std::string>> SharedLibrary::loaded() {
  const std::lock_guard lock(all_loaded().mutex);
  return all_loaded().libraries;
}

std::string SharedLibrary::path() const {
  const link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : std::string();
}

}  // namespace etude::cuda
