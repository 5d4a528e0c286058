#include "cuda/shared_library.hpp"

#include <glob.h>
#include <link.h>

#include <cstdlib>
#include <mutex>

namespace etude::cuda {
namespace {

/// Where Python packages lie, as patterns of glob(3).
std::vector<std::string> package_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, const char* below) {
    if (const char* prefix = std::getenv(variable)) folders.push_back(prefix + std::string(below));
  };
  add("VIRTUAL_ENV", "/lib/python3*/site-packages");
  add("CONDA_PREFIX", "/lib/python3*/site-packages");
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
