#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/matrix_product.hpp"
#include "cuda/vendor_convolution.hpp"

namespace etude::cuda {

/// Measures the time of queued work on a GPU, by the names of kernels, with an event before and after each launch. An
/// event takes the GPU some microseconds too, so short kernels look longer than they are.
class Profile {
 public:
  /// A profile if ETUDE_PROFILE=1, else null. Its table is printed to stderr when the program ends, if it still exists.
  static std::shared_ptr<Profile> wanted();
  /// The tables of all profiles.
  static std::string tables();

  Profile() = default;
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Times the work that is enqueued on a stream during its lifetime. Does nothing without a profile. One thread at a
  /// time.
  class Span {
   public:
    Span(Profile* profile, std::string_view name, cudaStream_t stream);
    /// By the name of the vendor's product, or convolution.
    Span(Profile* profile, const MatrixProduct& product, cudaStream_t stream);
    Span(Profile* profile, const VendorConvolution& convolution, cudaStream_t stream);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Profile* profile_;
    cudaStream_t stream_;
    std::size_t index_ = 0;
  };

  /// Waits for the queued work. The table has a line for each name: its fraction of the time, its calls, microseconds
  /// of all of them and of one; the name that takes longest is first.
  std::string table();

  /// A distinct name for each program: "program 1f3a9c04: Multiply Add Sqrt", from a hash of its text and its ops.
  static std::string program_name(std::string_view source);

 private:
  struct Timed {
    std::string name;
    cudaEvent_t begin = nullptr, end = nullptr;
  };
  struct Total {
    std::int64_t calls = 0;
    double microseconds = 0;
  };
  /// Adds up the times, and keeps the events for later launches.
  void add_up();
  cudaEvent_t event();

  std::vector<Timed> timed_;
  std::vector<cudaEvent_t> free_;
  std::map<std::string, Total> totals_;
};

}  // namespace etude::cuda
