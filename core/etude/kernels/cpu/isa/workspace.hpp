#pragma once

#include "etude/kernels/cpu/isa/gemm_tile.hpp"

namespace etude::cpu::ETUDE_ISA {

/// Allocates pieces of a workspace, one after another. Constructed with null, it only counts the bytes.
class Workspace {
 public:
  explicit Workspace(void* begin) : begin_(reinterpret_cast<std::uintptr_t>(begin)) {}

  template <class U> [[gnu::always_inline]] U* allocate(Index count) {
    U* piece = reinterpret_cast<U*>(begin_ + used_);
    used_ += (static_cast<std::uintptr_t>(count) * sizeof(U) + 63) / 64 * 64;
    return piece;
  }
  [[gnu::always_inline]] std::int64_t used() const { return static_cast<std::int64_t>(used_); }

 private:
  std::uintptr_t begin_, used_ = 0;
};

}  // namespace etude::cpu::ETUDE_ISA
