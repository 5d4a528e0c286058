#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/chooser.hpp"
#include "cuda/matrix_product.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/error.hpp"

struct CUstream_st;

namespace etude::cuda {

/// Products by NVIDIA's cuBLASLt. Each kind of product has one algorithm: the fastest of those that the library
/// advises, measured by a Chooser, or without a Chooser the one that the library advises first. So the same GPU gives
/// the same bits. Source: cublasLt.h, for the functions and numbers here; they have not changed since its version 11.
class CublasLt {
 public:
  using Status = int;  ///< 0: success
  using Handle = struct cublasLtContext*;
  using Description = struct cublasLtMatmulDescOpaque_t*;
  using Layout = struct cublasLtMatrixLayoutOpaque_t*;
  using Preference = struct cublasLtMatmulPreferenceOpaque_t*;
  struct Algorithm {
    std::uint64_t data[8];
  };
  struct Found {
    Algorithm algorithm;
    std::size_t workspace_bytes;
    Status state;
    float waves;
    int reserved[4];
  };

  /// The library's functions.
  struct Functions {
    Status (*create)(Handle*);
    Status (*destroy)(Handle);
    Status (*create_description)(Description*, int compute_type, int scale_type);
    Status (*destroy_description)(Description);
    Status (*set_of_description)(Description, int attribute, const void* value, std::size_t bytes);
    Status (*create_layout)(Layout*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t distance);
    Status (*destroy_layout)(Layout);
    Status (*set_of_layout)(Layout, int attribute, const void* value, std::size_t bytes);
    Status (*create_preference)(Preference*);
    Status (*destroy_preference)(Preference);
    Status (*set_of_preference)(Preference, int attribute, const void* value, std::size_t bytes);
    Status (*find)(Handle, Description, Layout a, Layout b, Layout c, Layout d, Preference, int wanted, Found*,
                   int* found);
    Status (*check)(Handle, Description, Layout a, Layout b, Layout c, Layout d, const Algorithm*, Found*);
    Status (*multiply)(Handle, Description, const void* alpha, const void* a, Layout, const void* b, Layout,
                       const void* beta, const void* c, Layout, void* d, Layout, const Algorithm*, void* workspace,
                       std::size_t workspace_bytes, CUstream_st*);
    std::size_t (*version)();

    static Functions of(const SharedLibrary& library);
  };

  /// The workspace of products, in bytes: NVIDIA's advice for its largest GPUs, plus alignment.
  static constexpr std::size_t workspace_bytes = (std::size_t{32} << 20) + 256;

  /// Throws the GPU's own error for a failed call, for lack of memory or another reason; returns if the GPU has none.
  using Explain = std::function<void(const char* what, bool no_memory)>;
  /// The library does not support the GPU.
  struct Unusable : Error {
    using Error::Error;
  };

  /// The most algorithms of a kind of product that are measured.
  static constexpr int most_algorithms = 8;

  /// For the current GPU. `tf32`: whether factors in float32 may be rounded to 11 digits. The chooser, whose choices
  /// are valid for this `tf32` only, is used during the lifetime of this object. Throws Unusable, and Error(state) if
  /// memory does not suffice.
  CublasLt(const Functions& functions, bool tf32, Explain explain = {}, Chooser* chooser = nullptr);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  /// Enqueues a product; false if the library does not support it. Throws Error(state) if memory does not suffice; a
  /// later call tries again.
  bool multiply(const MatrixProduct& product, CUstream_st* stream);
  /// Whether the library supports it; measures nothing. Throws as multiply() does.
  bool possible(const MatrixProduct& product) const;
  /// Chooses the algorithm for its kind, unless that was done before: multiply() measures nothing then. Measuring
  /// computes the product on the stream.
  void choose(const MatrixProduct& product, CUstream_st* stream) { plan_of(product, stream); }

 private:
  /// The properties that distinguish kinds of products.
  using Kind = std::array<std::int64_t, 17>;
  /// An object of the library, with the function that destroys it.
  template <class T> using Owned = std::unique_ptr<std::remove_pointer_t<T>, Status (*)(T)>;
  struct Plan {
    Owned<Description> description;
    Owned<Layout> a, b, c;
    std::optional<Algorithm> algorithm = {};  ///< nothing if the library does not support the product
  };
  static Kind kind_of(const MatrixProduct& product);
  static std::string name_of(const Kind& kind);
  const Plan& plan_of(const MatrixProduct& product, CUstream_st* stream);
  Plan describe(const MatrixProduct& product) const;
  /// The algorithms that the library advises for a plan, the best one first.
  std::vector<Algorithm> advised(const MatrixProduct& product, const Plan& plan, int most) const;
  /// Whether the library still supports an algorithm of an earlier process for a plan.
  bool accepts(const Plan& plan, const Algorithm& algorithm) const;
  std::optional<Algorithm> chosen(const MatrixProduct& product, const Plan& plan, CUstream_st* stream) const;
  Status enqueue(const MatrixProduct& product, const Plan& plan, const Algorithm& algorithm, CUstream_st* stream) const;
  Owned<Layout> layout(const MatrixProduct& product, const MatrixProduct::Matrix& matrix, std::int64_t rows,
                       std::int64_t columns) const;
  void expect(Status status, const char* what) const;

  Functions functions_;
  bool tf32_;
  Explain explain_;
  Chooser* chooser_;
  Handle handle_ = nullptr;
  std::map<Kind, Plan> plans_;
};

}  // namespace etude::cuda
