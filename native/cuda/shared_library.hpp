#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"

namespace etude::cuda {

/// A library that is loaded on demand, and its functions by name.
class SharedLibrary {
 public:
  /// The first of `names` that exists: in the system's library folders, else among NVIDIA's Python packages
  /// (nvidia/*/lib in PYTHONPATH's folders, in site-packages of the active environment, of each python3 on PATH, of the
  /// user, of the system). Throws Error(state) if none exists.
  SharedLibrary(const char* what, std::initializer_list<const char*> names);
  ~SharedLibrary() { dlclose(handle_); }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// The loaded file.
  std::string path() const;

  /// The libraries that were loaded so far, with their files: "cuBLASLt", "/usr/lib/libcublasLt.so.13".
  static std::vector<std::pair<std::string, std::string>> loaded();

  template <class Function> void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    check(function != nullptr, ErrorKind::state, "Cuda", what_, " without ", name,
          " - expected a newer one - update it.");
  }

 private:
  const char* what_;
  void* handle_ = nullptr;
};

}  // namespace etude::cuda
