#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/matrix_product.hpp"

namespace etude::cuda {

/// How long a GPU computes what is queued, by the names of kernels: an event before and one behind each launch. An
/// event takes the GPU some microseconds, too, so short kernels look longer than they are.
class Profile {
 public:
  /// One where ETUDE_PROFILE=1, whose table is printed to stderr when the program ends, if it is still there; else
  /// null.
  static std::shared_ptr<Profile> wanted();
  /// The tables of all such.
  static std::string tables();

  Profile() = default;
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Times what is queued on a stream while it lives. Nothing, without a profile. One thread at a time.
  class Span {
   public:
    Span(Profile* profile, std::string_view name, cudaStream_t stream);
    /// By the name of the vendor's product.
    Span(Profile* profile, const MatrixProduct& product, cudaStream_t stream);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Profile* profile_;
    cudaStream_t stream_;
    std::size_t index_ = 0;
  };

  /// Waits for what was queued. One line for each name: its share of the time, calls, microseconds of all of them and
  /// of one; the name that takes longest is first.
  std::string table();

  /// Tells programs apart: "program 1f3a9c04: Multiply Add Sqrt", by a hash of the text and the ops in it.
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
  /// Adds up what is timed, and keeps its events for what comes.
  void add_up();
  cudaEvent_t event();

  std::vector<Timed> timed_;
  std::vector<cudaEvent_t> free_;
  std::map<std::string, Total> totals_;
};

}  // namespace etude::cuda
