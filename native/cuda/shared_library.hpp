#pragma once

#include <dlfcn.h>

#include <initializer_list>

#include "etude/base/error.hpp"

namespace etude::cuda {

/// A library that is loaded when it is needed, and its functions by name.
class SharedLibrary {
 public:
  /// The first of `names` that there is. Throws Error(state) without one.
  SharedLibrary(const char* what, std::initializer_list<const char*> names) : what_(what) {
    for (const char* name : names)
      if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    check(handle_ != nullptr, ErrorKind::state, "Cuda", "no ", what_, " - expected ", *names.begin(),
          " where the system looks for libraries - install ", what_, " or add its folder to LD_LIBRARY_PATH.");
  }
  ~SharedLibrary() { dlclose(handle_); }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

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
