#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "etude/eigen.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "support.hpp"

// Products and convolutions against Eigen's independent code, on every instruction set.

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;
template <int rank> using EigenTensor = Eigen::Tensor<double, rank, Eigen::RowMajor>;

constexpr Tolerance tolerance(DType dtype) {
  return dtype == DType::float64 ? Tolerance{1e-12, 1e-12} : Tolerance{2e-5, 2e-5};
}

eigen::Matrix<double> transposed(const Tensor& tensor, bool transpose) {
  const auto matrix = eigen::matrix<double>(tensor);
  return transpose ? eigen::Matrix<double>(matrix.transpose()) : eigen::Matrix<double>(matrix);
}

/// The windows of x [batch, rows, columns, channels], a row for each element of y and each place of the kernel in it.
/// Eigen orders the axes of row-major tensors in reverse: its rows are our columns.
EigenTensor<5> windows(const Tensor& x, const Shape& kernel, const Window& w) {
  const auto of = [](const std::array<std::int64_t, 2>& axes, std::size_t axis) {
    return static_cast<Eigen::Index>(axes[axis]);
  };
  return eigen::tensor<double, 4>(x).extract_image_patches(
      static_cast<Eigen::Index>(kernel[1]), static_cast<Eigen::Index>(kernel[0]), of(w.strides, 1), of(w.strides, 0),
      of(w.dilation, 1), of(w.dilation, 0), 1, 1, of(w.before, 1), of(w.after, 1), of(w.before, 0), of(w.after, 0),
      0.0);
}

struct Case {
  Shape x, kernel;
  std::array<std::int64_t, 2> strides{1, 1}, dilation{1, 1};
  bool same = false;
};

}  // namespace

TEST_CASE("matrix products match Eigen's", "[execution][parity][eigen]") {
  Random random = draws(51);
  for (const Shape& size : {Shape{1, 1, 1}, Shape{2, 3, 4}, Shape{17, 33, 9}, Shape{64, 64, 64}, Shape{5, 130, 257}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const DType dtype : {DType::float32, DType::float64}) {
          const std::int64_t m = size[0], n = size[1], k = size[2];
          const Tensor a = random_tensor(random, ta ? Shape{k, m} : Shape{m, k}, dtype),
                       b = random_tensor(random, tb ? Shape{n, k} : Shape{k, n}, dtype);
          const Tensor want =
              eigen::copy(transposed(a.astype(DType::float64), ta) * transposed(b.astype(DType::float64), tb));
          for (Cpu& device : instruction_sets()) {
            INFO(device.isa() << ' ' << dtype << ' ' << size << (ta ? " At" : " A") << (tb ? " Bt" : " B"));
            const std::vector<Tensor> inputs{a, b};
            const Tensor got = run_on(device, inputs, [&](Values v) { return ops::matmul(v[0], v[1], ta, tb); });
            CHECK(difference(got.astype(DType::float64), want, tolerance(dtype)) == "");
          }
        }
}

TEST_CASE("convolutions and their gradients match Eigen's contractions", "[execution][parity][eigen]") {
  Random random = draws(52);
  const std::vector<Case> cases{{{2, 8, 9, 3}, {3, 3, 3, 5}},
                                {{1, 7, 7, 1}, {5, 2, 1, 4}, {2, 3}},
                                {{3, 12, 6, 4}, {3, 3, 4, 16}, {1, 1}, {1, 1}, true},
                                {{2, 11, 10, 2}, {3, 2, 2, 7}, {2, 2}, {1, 1}, true},
                                {{2, 9, 13, 5}, {2, 3, 5, 8}, {1, 1}, {2, 3}},
                                {{4, 6, 5, 33}, {1, 1, 33, 12}}};
  for (const Case& one : cases)
    for (const DType dtype : {DType::float32, DType::float64}) {
      Window window{.extent = {one.kernel[0], one.kernel[1]}, .strides = one.strides};
      window.dilation = one.dilation;
      if (one.same) window = ops::padded(window, "same", {one.x[1], one.x[2]});
      const Shape y{one.x[0], window.outputs(0, one.x[1]), window.outputs(1, one.x[2]), one.kernel[3]};
      const std::vector<Tensor> inputs{random_tensor(random, one.x, dtype), random_tensor(random, one.kernel, dtype),
                                       random_tensor(random, y, dtype)};
      const Tensor x = inputs[0].astype(DType::float64), kernel = inputs[1].astype(DType::float64),
                   dy = inputs[2].astype(DType::float64);
      const std::int64_t places = y[0] * y[1] * y[2], terms = one.kernel.slice(0, 3).size();
      const EigenTensor<2> rows = windows(x, one.kernel, window)
                                      .reshape(Eigen::DSizes<Eigen::Index, 2>(static_cast<Eigen::Index>(places),
                                                                              static_cast<Eigen::Index>(terms)));
      using Axes = std::array<Eigen::IndexPair<int>, 1>;
      const Tensor flat_kernel = kernel.reshape({terms, y[3]}), flat_dy = dy.reshape({places, y[3]});
      const EigenTensor<2> want = rows.contract(eigen::tensor<double, 2>(flat_kernel), Axes{{{1, 0}}}),
                           want_dkernel = rows.contract(eigen::tensor<double, 2>(flat_dy), Axes{{{0, 0}}});
      // The contribution of each element of the windows to dx, added at its origin.
      const EigenTensor<2> drows =
          eigen::tensor<double, 2>(flat_dy).contract(eigen::tensor<double, 2>(flat_kernel), Axes{{{1, 1}}});
      Tensor numbered(one.x, DType::float64), want_dx(one.x, DType::float64);
      std::iota(numbered.data<double>().begin(), numbered.data<double>().end(), 1.0);
      const EigenTensor<5> sources = windows(numbered, one.kernel, window);  // 0 in the padding
      for (Eigen::Index i = 0; i < sources.size(); ++i)
        if (const auto source = static_cast<std::size_t>(sources.data()[i]); source > 0)
          want_dx.data<double>()[source - 1] += drows.data()[i];
      for (Cpu& device : instruction_sets()) {
        INFO(device.isa() << ' ' << dtype << ' ' << one.x << " by " << one.kernel);
        const auto got = evaluate(device, inputs, [&](Values v) {
          const Value result = ops::convolution(v[0], v[1], window);
          const std::vector<Value> d = gradients(ops::sum(result * v[2]), v.first(2));
          return std::vector{result, d[0], d[1]};
        });
        CHECK(difference(numbers(got[0]), numbers(eigen::view(want)), tolerance(dtype)) == "");
        CHECK(difference(numbers(got[1]), numbers(want_dx), tolerance(dtype)) == "");
        CHECK(difference(numbers(got[2]), numbers(eigen::view(want_dkernel)), tolerance(dtype)) == "");
      }
    }
}
