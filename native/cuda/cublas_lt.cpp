#include "cuda/cublas_lt.hpp"

#include <algorithm>
#include <utility>

#include "cuda/vendor_numbers.hpp"

namespace etude::cuda {
namespace {

namespace number = vendor::cublas_lt;

constexpr std::size_t used_workspace = CublasLt::workspace_bytes - 256;

int type_of(DType dtype) {
  return dtype == DType::float64    ? number::real_float64
         : dtype == DType::float16  ? number::real_float16
         : dtype == DType::bfloat16 ? number::real_bfloat16
                                    : number::real_float32;
}

/// The largest power of two, up to 16, that divides an address; 16 for a null address.
std::uint32_t alignment_of(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address) | 16;
  return static_cast<std::uint32_t>(number & (~number + 1));
}

}  // namespace

CublasLt::Functions CublasLt::Functions::of(const SharedLibrary& library) {
  Functions f;
  library.find(f.create, "cublasLtCreate");
  library.find(f.destroy, "cublasLtDestroy");
  library.find(f.create_description, "cublasLtMatmulDescCreate");
  library.find(f.destroy_description, "cublasLtMatmulDescDestroy");
  library.find(f.set_of_description, "cublasLtMatmulDescSetAttribute");
  library.find(f.create_layout, "cublasLtMatrixLayoutCreate");
  library.find(f.destroy_layout, "cublasLtMatrixLayoutDestroy");
  library.find(f.set_of_layout, "cublasLtMatrixLayoutSetAttribute");
  library.find(f.create_preference, "cublasLtMatmulPreferenceCreate");
  library.find(f.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  library.find(f.set_of_preference, "cublasLtMatmulPreferenceSetAttribute");
  library.find(f.find, "cublasLtMatmulAlgoGetHeuristic");
  library.find(f.multiply, "cublasLtMatmul");
  return f;
}

CublasLt::CublasLt(const Functions& functions, bool tf32, Explain explain)
    : functions_(functions), tf32_(tf32), explain_(std::move(explain)) {
  const Status made = functions_.create(&handle_);
  if (made == number::no_memory || made == number::failed_on_gpu) expect(made, "opening cuBLASLt");
  if (made == 0) return;
  if (explain_) explain_("opening cuBLASLt", false);
  throw Unusable(ErrorKind::state, "[Cuda] cuBLASLt finds no GPU, by status " + std::to_string(made) +
                                       " - expected one that its version knows - update it.");
}

CublasLt::~CublasLt() {
  plans_.clear();
  functions_.destroy(handle_);
}

void CublasLt::expect(Status status, const char* what) const {
  if (status == 0) [[likely]]
    return;
  if (explain_) explain_(what, status == number::no_memory);
  check(status != number::no_memory, ErrorKind::state, "Cuda", what,
        " failed: cuBLASLt found no memory - expected some to be free - pass smaller batches or a smaller model.");
  fail(ErrorKind::internal, "Cuda", what, " failed with status ", status,
       " of cuBLASLt - expected it to be done - see what its log says (CUBLASLT_LOG_LEVEL=1).");
}

CublasLt::Kind CublasLt::kind_of(const MatrixProduct& p) {
  return {static_cast<std::int64_t>(p.dtype),
          p.m,
          p.n,
          p.k,
          p.count,
          p.a.distance,
          p.a.transposed,
          p.a.stride,
          p.b.distance,
          p.b.transposed,
          p.b.stride,
          p.c.distance,
          p.c.stride,
          alignment_of(p.a.data),
          alignment_of(p.b.data),
          alignment_of(p.c.data),
          p.bias ? alignment_of(p.bias) : 0};
}

/// cuBLASLt is column-major: it sees our matrices transposed, and cᵀ = op(b)ᵀ · op(a)ᵀ.
CublasLt::Owned<CublasLt::Layout> CublasLt::layout(const MatrixProduct& product, const MatrixProduct::Matrix& matrix,
                                                   std::int64_t rows, std::int64_t columns) const {
  if (matrix.transposed) std::swap(rows, columns);
  Layout made = nullptr;
  expect(functions_.create_layout(&made, type_of(product.dtype), static_cast<std::uint64_t>(columns),
                                  static_cast<std::uint64_t>(rows), matrix.distance),
         "describing a matrix");
  Owned<Layout> layout(made, functions_.destroy_layout);
  if (product.count == 1) return layout;
  const auto count = static_cast<std::int32_t>(product.count);
  expect(functions_.set_of_layout(made, number::layout_batch_count, &count, sizeof count), "describing a batch");
  expect(functions_.set_of_layout(made, number::layout_batch_stride, &matrix.stride, sizeof matrix.stride),
         "describing a batch");
  return layout;
}

CublasLt::Plan CublasLt::plan(const MatrixProduct& p) const {
  const bool wide = p.dtype == DType::float64;
  const int compute = wide                                 ? number::compute_float64
                      : tf32_ && p.dtype == DType::float32 ? number::compute_tf32
                                                           : number::compute_float32;
  Description description = nullptr;
  expect(functions_.create_description(&description, compute, wide ? number::real_float64 : number::real_float32),
         "describing a product");
  Owned<Description> owned(description, functions_.destroy_description);
  // Their a is our b.
  for (const auto& [attribute, matrix] :
       {std::pair{number::description_transposes_a, &p.b}, std::pair{number::description_transposes_b, &p.a}})
    if (matrix->transposed)
      expect(functions_.set_of_description(description, attribute, &number::transpose, sizeof number::transpose),
             "describing a product");
  if (p.bias) {
    const auto describe = [&](int attribute, const auto& value) {
      expect(functions_.set_of_description(description, attribute, &value, sizeof value), "describing a bias");
    };
    describe(number::description_epilogue, number::epilogue_bias);
    describe(number::description_bias, p.bias);
  }
  Plan plan{std::move(owned), layout(p, p.a, p.m, p.k), layout(p, p.b, p.k, p.n), layout(p, p.c, p.m, p.n)};

  Preference preference = nullptr;
  expect(functions_.create_preference(&preference), "asking for a product");
  const Owned<Preference> owned_preference(preference, functions_.destroy_preference);
  const auto prefer = [&](int attribute, auto value) {
    expect(functions_.set_of_preference(preference, attribute, &value, sizeof value), "asking for a product");
  };
  prefer(number::preference_workspace, std::uint64_t{used_workspace});
  prefer(number::preference_reductions, number::reduction_in_compute_type);
  prefer(number::preference_alignment_a, alignment_of(p.b.data));
  prefer(number::preference_alignment_b, alignment_of(p.a.data));
  prefer(number::preference_alignment_c, alignment_of(p.c.data));
  prefer(number::preference_alignment_d, std::min(alignment_of(p.c.data), alignment_of(p.bias)));
  Found found{};
  int count = 0;
  const Status status = functions_.find(handle_, description, plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(),
                                        preference, 1, &found, &count);
  if (status != number::invalid_value && status != number::wrong_architecture && status != number::not_supported)
    expect(status, "asking for a product");
  plan.possible = status == 0 && count == 1 && found.state == 0;
  plan.algorithm = found.algorithm;
  return plan;
}

const CublasLt::Plan& CublasLt::plan_of(const MatrixProduct& product) {
  const Kind kind = kind_of(product);
  const auto known = plans_.find(kind);
  return known != plans_.end() ? known->second : plans_.emplace(kind, plan(product)).first->second;
}

bool CublasLt::multiply(const MatrixProduct& p, CUstream_st* stream) {
  const Plan& plan = plan_of(p);
  if (!plan.possible) return false;
  if (p.bias)
    expect(functions_.set_of_description(plan.description.get(), number::description_bias, &p.bias, sizeof p.bias),
           "naming a bias");
  std::byte* aligned = p.workspace + (~reinterpret_cast<std::uintptr_t>(p.workspace) + 1) % 256;
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool wide = p.dtype == DType::float64;
  const void* const alpha = wide ? static_cast<const void*>(&one) : &narrow_one;
  const void* const beta = wide ? static_cast<const void*>(&zero) : &narrow_zero;
  expect(functions_.multiply(handle_, plan.description.get(), alpha, p.b.data, plan.b.get(), p.a.data, plan.a.get(),
                             beta, p.c.data, plan.c.get(), p.c.data, plan.c.get(), &plan.algorithm, aligned,
                             used_workspace, stream),
         "a product");
  return true;
}

}  // namespace etude::cuda
