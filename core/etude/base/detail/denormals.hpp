#pragma once

#include <cstdint>

namespace etude {

/// While it exists, its thread flushes denormals to 0, as operands and as results. x86 processors need some hundred
/// cycles for each denormal, which the averaged squares of RMSprop and Adam become in time. Afterwards the thread has
/// its previous mode. WebAssembly has no such mode. CONTRIBUTING.md ("Numerics") has the rule for all devices.
class FlushDenormals {
 public:
  FlushDenormals() : before_(mode()) { set_mode(before_ | flush); }
  ~FlushDenormals() { set_mode(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__x86_64__)
  static constexpr std::uint64_t flush = 0x8040;  ///< of MXCSR: flush to zero, denormals are zero
#elif defined(__aarch64__)
  static constexpr std::uint64_t flush = 1 << 24;  ///< of FPCR: FZ
#else
  static constexpr std::uint64_t flush = 0;
#endif

  /// The register with this thread's floating-point mode.
  static std::uint64_t mode() {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
    std::uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
#else
    return 0;
#endif
  }

 private:
  static void set_mode(std::uint64_t mode) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    static_cast<void>(mode);
#endif
  }

  std::uint64_t before_;
};

}  // namespace etude
