#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "cuda/shared_library.hpp"
#include "cuda/vendor_convolution.hpp"

struct CUstream_st;

namespace etude::cuda {

/// Convolutions by NVIDIA's cuDNN: by its algorithms that multiply matrices of patches, which are deterministic and
/// round as products do. Source: cudnn.h of version 9, for the functions and numbers here.
class Cudnn {
 public:
  using Status = int;  ///< 0: success
  using Handle = struct cudnnContext*;
  using Tensor = struct cudnnTensorStruct*;
  using Filter = struct cudnnFilterStruct*;
  using Convolution = struct cudnnConvolutionStruct*;

  /// The library's functions.
  struct Functions {
    Status (*create)(Handle*);
    Status (*destroy)(Handle);
    Status (*set_stream)(Handle, CUstream_st*);
    Status (*create_tensor)(Tensor*);
    Status (*destroy_tensor)(Tensor);
    Status (*set_tensor)(Tensor, int format, int type, int batch, int channels, int height, int width);
    Status (*create_filter)(Filter*);
    Status (*destroy_filter)(Filter);
    Status (*set_filter)(Filter, int type, int format, int filters, int channels, int height, int width);
    Status (*create_convolution)(Convolution*);
    Status (*destroy_convolution)(Convolution);
    Status (*set_convolution)(Convolution, int pad_height, int pad_width, int stride_y, int stride_x, int dilation_y,
                              int dilation_x, int mode, int compute_type);
    Status (*set_groups)(Convolution, int groups);
    Status (*set_math)(Convolution, int math);
    Status (*forward_workspace)(Handle, Tensor x, Filter, Convolution, Tensor y, int algorithm, std::size_t* bytes);
    Status (*forward)(Handle, const void* alpha, Tensor, const void* x, Filter, const void* kernel, Convolution,
                      int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta, Tensor, void* y);
    Status (*input_workspace)(Handle, Filter, Tensor dy, Convolution, Tensor dx, int algorithm, std::size_t* bytes);
    Status (*input)(Handle, const void* alpha, Filter, const void* kernel, Tensor, const void* dy, Convolution,
                    int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta, Tensor, void* dx);
    Status (*filter_workspace)(Handle, Tensor x, Tensor dy, Convolution, Filter, int algorithm, std::size_t* bytes);
    Status (*filter)(Handle, const void* alpha, Tensor, const void* x, Tensor, const void* dy, Convolution,
                     int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta, Filter,
                     void* dkernel);
    std::size_t (*version)();

    static Functions of(const SharedLibrary& library);
  };

  /// The workspace of convolutions, in bytes, with alignment. Algorithms that need more are not used.
  static constexpr std::size_t workspace_bytes = (std::size_t{32} << 20) + 256;

  /// Throws the GPU's own error for a failed call, for lack of memory or another reason; returns if the GPU has none.
  using Explain = std::function<void(const char* what, bool no_memory)>;

  /// For the current GPU. `tf32`: whether factors in float32 may be rounded to 11 digits. The library is opened for the
  /// first convolution; one that does not support the GPU computes none.
  Cudnn(const Functions& functions, bool tf32, CUstream_st* stream, Explain explain = {});
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  /// The algorithms by which the library computes a convolution, by its numbers; none if it does not support it. Throws
  /// Error(state) if memory does not suffice; a later call tries again.
  std::vector<int> algorithms(const VendorConvolution& convolution);
  /// The same without a call of the library: none unless algorithms() was called for this kind before.
  std::vector<int> known_algorithms(const VendorConvolution& convolution) const;
  /// Enqueues a convolution by one of them; false if it fails. Throws Error(state) if memory does not suffice.
  bool convolve(const VendorConvolution& convolution, int algorithm);

 private:
  /// The properties that distinguish kinds of convolutions.
  using Kind = std::array<std::int64_t, 18>;
  /// An object of the library, with the function that destroys it.
  template <class T> using Owned = std::unique_ptr<std::remove_pointer_t<T>, Status (*)(T)>;
  struct Plan {
    Owned<Tensor> x, y;
    Owned<Filter> kernel;
    Owned<Convolution> convolution;
    std::vector<int> algorithms = {};
  };
  static Kind kind_of(const VendorConvolution& convolution);
  bool opened();
  const Plan& plan_of(const VendorConvolution& convolution);
  Plan describe(const VendorConvolution& convolution) const;
  /// Whether the library accepts a convolution's sizes.
  bool accepts(const VendorConvolution& convolution, const Plan& plan) const;
  Status workspace_of(ConvolutionPass pass, const Plan& plan, int algorithm, std::size_t& bytes) const;
  /// Whether a call succeeded. Throws if it lacked memory, or the GPU is lost.
  bool succeeded(Status status, const char* what) const;

  Functions functions_;
  bool tf32_;
  CUstream_st* stream_;
  Explain explain_;
  Handle handle_ = nullptr;
  bool usable_ = true;
  std::map<Kind, Plan> plans_;
};

}  // namespace etude::cuda
