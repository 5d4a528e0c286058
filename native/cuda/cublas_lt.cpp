#include "cuda/cublas_lt.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
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

/// Whether a status means that the library does not support this.
bool is_unsupported(CublasLt::Status status) {
  return status == number::invalid_value || status == number::wrong_architecture || status == number::not_supported;
}

/// The bytes of an algorithm, from which cuBLASLt of the same version restores it.
std::string text_of(const CublasLt::Algorithm& algorithm) {
  std::string digits;
  for (const std::uint64_t word : algorithm.data)
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(word >> shift) & 15];
  return digits;
}

std::optional<CublasLt::Algorithm> algorithm_of(std::string_view text) {
  CublasLt::Algorithm algorithm{};
  constexpr std::size_t digits = 16;
  if (text.size() != digits * std::size(algorithm.data)) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) return {};
    algorithm.data[i / digits] = algorithm.data[i / digits] << 4 | digit;
  }
  return algorithm;
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
  library.find(f.check, "cublasLtMatmulAlgoCheck");
  library.find(f.multiply, "cublasLtMatmul");
  library.find(f.version, "cublasLtGetVersion");
  return f;
}

CublasLt::CublasLt(const Functions& functions, bool tf32, Explain explain, Chooser* chooser)
    : functions_(functions), tf32_(tf32), explain_(std::move(explain)), chooser_(chooser) {
  const Status made = functions_.create(&handle_);
  if (made == number::no_memory || made == number::failed_on_gpu) expect(made, "opening cuBLASLt");
  if (made == 0) return;
  if (explain_) explain_("opening cuBLASLt", false);
  throw Unusable(ErrorKind::state, "[Cuda] cuBLASLt finds no GPU, by status " + std::to_string(made) +
                                       " - expected a GPU that its version supports - update it.");
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
        " failed: cuBLASLt found no memory - expected free memory - pass smaller batches or a smaller model.");
  fail(ErrorKind::internal, "Cuda", what, " failed with status ", status,
       " of cuBLASLt - expected success - see its log (CUBLASLT_LOG_LEVEL=1).");
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

std::string CublasLt::name_of(const Kind& kind) {
  std::string name = "product";
  for (const std::int64_t number : kind) name += ' ' + std::to_string(number);
  return name;
}

/// cuBLASLt is column-major: our matrices are transposed for it, and cᵀ = op(b)ᵀ · op(a)ᵀ.
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

CublasLt::Plan CublasLt::describe(const MatrixProduct& p) const {
  const bool wide = p.dtype == DType::float64;
  const int compute = wide                                 ? number::compute_float64
                      : tf32_ && p.dtype == DType::float32 ? number::compute_tf32
                                                           : number::compute_float32;
  Description description = nullptr;
  expect(functions_.create_description(&description, compute, wide ? number::real_float64 : number::real_float32),
         "describing a product");
  Owned<Description> owned(description, functions_.destroy_description);
  // The a of cuBLASLt is our b.
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
  return {std::move(owned), layout(p, p.a, p.m, p.k), layout(p, p.b, p.k, p.n), layout(p, p.c, p.m, p.n)};
}

std::vector<CublasLt::Algorithm> CublasLt::advised(const MatrixProduct& p, const Plan& plan, int most) const {
  Preference preference = nullptr;
  expect(functions_.create_preference(&preference), "selecting an algorithm");
  const Owned<Preference> owned(preference, functions_.destroy_preference);
  const auto prefer = [&](int attribute, auto value) {
    expect(functions_.set_of_preference(preference, attribute, &value, sizeof value), "selecting an algorithm");
  };
  prefer(number::preference_workspace, std::uint64_t{used_workspace});
  prefer(number::preference_reductions, number::reduction_in_compute_type);
  prefer(number::preference_alignment_a, alignment_of(p.b.data));
  prefer(number::preference_alignment_b, alignment_of(p.a.data));
  prefer(number::preference_alignment_c, alignment_of(p.c.data));
  prefer(number::preference_alignment_d, std::min(alignment_of(p.c.data), alignment_of(p.bias)));
  std::vector<Found> found(static_cast<std::size_t>(most));
  int count = 0;
  const Status status = functions_.find(handle_, plan.description.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                                        plan.c.get(), preference, most, found.data(), &count);
  if (!is_unsupported(status)) expect(status, "selecting an algorithm");
  std::vector<Algorithm> algorithms;
  for (int i = 0; status == 0 && i < count; ++i)
    if (const Found& one = found[static_cast<std::size_t>(i)]; one.state == 0) algorithms.push_back(one.algorithm);
  return algorithms;
}

bool CublasLt::accepts(const Plan& plan, const Algorithm& algorithm) const {
  Found found{};
  const Status status = functions_.check(handle_, plan.description.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                                         plan.c.get(), &algorithm, &found);
  if (!is_unsupported(status)) expect(status, "checking an algorithm");
  return status == 0 && found.workspace_bytes <= used_workspace;
}

std::optional<CublasLt::Algorithm> CublasLt::chosen(const MatrixProduct& p, const Plan& plan,
                                                    CUstream_st* stream) const {
  if (!chooser_) {
    const std::vector<Algorithm> algorithms = advised(p, plan, 1);
    return algorithms.empty() ? std::nullopt : std::optional(algorithms.front());
  }
  Status failure = 0;
  Chooser::Ways ways;
  ways.accepts = [&](const std::string& name) {
    const auto algorithm = algorithm_of(name);
    return algorithm && accepts(plan, *algorithm);
  };
  ways.list = [&] {
    std::vector<std::string> names;
    for (const Algorithm& algorithm : advised(p, plan, most_algorithms)) names.push_back(text_of(algorithm));
    return names;
  };
  ways.run = [&](const std::string& name) {
    const Status status = enqueue(p, plan, *algorithm_of(name), stream);
    if (status == number::no_memory) expect(status, "a product");
    if (status != 0 && explain_) explain_("a product", false);
    if (status != 0 && !is_unsupported(status)) failure = status;
    return status == 0;
  };
  const std::optional<std::string> name = chooser_->choose(name_of(kind_of(p)), ways);
  if (!name) expect(failure, "a product");
  return name ? algorithm_of(*name) : std::nullopt;
}

const CublasLt::Plan& CublasLt::plan_of(const MatrixProduct& p, CUstream_st* stream) {
  const Kind kind = kind_of(p);
  const auto known = plans_.find(kind);
  if (known != plans_.end()) return known->second;
  Plan plan = describe(p);
  plan.algorithm = chosen(p, plan, stream);
  return plans_.emplace(kind, std::move(plan)).first->second;
}

bool CublasLt::possible(const MatrixProduct& p) const {
  const auto known = plans_.find(kind_of(p));
  return known != plans_.end() ? known->second.algorithm.has_value() : !advised(p, describe(p), 1).empty();
}

CublasLt::Status CublasLt::enqueue(const MatrixProduct& p, const Plan& plan, const Algorithm& algorithm,
                                   CUstream_st* stream) const {
  std::byte* aligned = p.workspace + (~reinterpret_cast<std::uintptr_t>(p.workspace) + 1) % 256;
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool wide = p.dtype == DType::float64;
  const void* const alpha = wide ? static_cast<const void*>(&one) : &narrow_one;
  const void* const beta = wide ? static_cast<const void*>(&zero) : &narrow_zero;
  return functions_.multiply(handle_, plan.description.get(), alpha, p.b.data, plan.b.get(), p.a.data, plan.a.get(),
                             beta, p.c.data, plan.c.get(), p.c.data, plan.c.get(), &algorithm, aligned, used_workspace,
                             stream);
}

bool CublasLt::multiply(const MatrixProduct& p, CUstream_st* stream) {
  const Plan& plan = plan_of(p, stream);
  if (!plan.algorithm) return false;
  if (p.bias)
    expect(functions_.set_of_description(plan.description.get(), number::description_bias, &p.bias, sizeof p.bias),
           "naming a bias");
  expect(enqueue(p, plan, *plan.algorithm, stream), "a product");
  return true;
}

}  // namespace etude::cuda
