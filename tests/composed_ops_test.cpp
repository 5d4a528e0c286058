#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// Ops that other ops compute. Keras's numbers are in tests/golden/ops.json.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// The inputs of the golden file.
struct In {
  Value x, y, m, i, n, p, h, e;
};
struct Case {
  const char* name;  // in the golden file
  Value (*compute)(const In&);
};

Value number(double value, DType dtype = DType::int32) { return ops::full({1}, value, dtype); }
Value row(const std::vector<double>& numbers, DType dtype = DType::float32) {
  std::vector<Value> all;
  for (const double each : numbers) all.push_back(number(each, dtype));
  return ops::concatenate(all, 0);
}
Value above(Value x, double limit) { return ops::greater(x, ops::scalar(limit, x)); }

const Case cases[] = {
    {"reciprocal", [](const In& v) { return ops::reciprocal(v.y); }},
    {"rsqrt", [](const In& v) { return ops::rsqrt(v.y); }},
    {"ceil", [](const In& v) { return ops::ceil(v.x); }},
    {"round", [](const In& v) { return ops::round(v.h); }},
    {"trunc", [](const In& v) { return ops::trunc(v.x); }},
    {"expm1", [](const In& v) { return ops::expm1(v.e); }},
    {"exp2", [](const In& v) { return ops::exp2(v.x); }},
    {"log2", [](const In& v) { return ops::log2(v.y); }},
    {"log10", [](const In& v) { return ops::log10(v.y); }},
    {"tan", [](const In& v) { return ops::tan(v.e); }},
    {"sinh", [](const In& v) { return ops::sinh(v.x); }},
    {"cosh", [](const In& v) { return ops::cosh(v.x); }},
    {"arctan", [](const In& v) { return ops::arctan(v.x * 3); }},
    {"arcsin", [](const In& v) { return ops::arcsin(v.x * 0.5); }},
    {"arccos", [](const In& v) { return ops::arccos(v.x * 0.5); }},
    {"arctan2", [](const In& v) { return ops::arctan2(v.x, v.y - 1); }},
    {"arctan2_axes", [](const In&) { return ops::arctan2(row({0, 0, 0, 2, -2}), row({0, 1, -1, 0, 0})); }},
    {"arcsinh", [](const In& v) { return ops::arcsinh(v.x * 100); }},
    {"arcsinh_small", [](const In& v) { return ops::arcsinh(v.e); }},
    {"arccosh", [](const In& v) { return ops::arccosh(v.y + 1); }},
    {"arctanh", [](const In& v) { return ops::arctanh(v.x * 0.45); }},
    {"not_equal", [](const In& v) { return ops::not_equal(v.n, v.p); }},
    {"logical_xor", [](const In& v) { return ops::logical_xor(above(v.n, 0), above(v.p, 0)); }},
    {"floor_divide", [](const In& v) { return ops::floor_divide(v.x, v.y); }},
    {"floor_divide_int", [](const In& v) { return ops::floor_divide(v.n, v.p); }},
    {"mod", [](const In& v) { return ops::mod(v.x, v.y); }},
    {"mod_int", [](const In& v) { return ops::mod(v.n, v.p); }},
    {"logaddexp", [](const In& v) { return ops::logaddexp(v.x, v.y); }},
    {"min", [](const In& v) { return ops::min(v.x, {0, 2}); }},
    {"min_int", [](const In& v) { return ops::min(v.n, {1}); }},
    {"prod", [](const In& v) { return ops::prod(v.x, {1}); }},
    {"prod_all", [](const In& v) { return ops::prod(v.n); }},
    {"any", [](const In& v) { return ops::any(above(v.n, 7), {1}); }},
    {"all", [](const In& v) { return ops::all(above(v.n, -8), {0}); }},
    {"count_nonzero", [](const In& v) { return ops::count_nonzero(v.n, {1}); }},
    {"var", [](const In& v) { return ops::var(v.x, {0, -1}); }},
    {"std", [](const In& v) { return ops::std(v.x, {1}, true); }},
    {"logsumexp", [](const In& v) { return ops::logsumexp(v.x, {-1}); }},
    {"norm", [](const In& v) { return ops::norm(v.x, {-1}); }},
    {"normalize", [](const In& v) { return ops::normalize(v.x, 1); }},
    {"argmin", [](const In& v) { return ops::argmin(v.x); }},
    {"diff", [](const In& v) { return ops::diff(v.x, 2); }},
    {"sort", [](const In& v) { return ops::sort(v.x); }},
    {"sort_columns", [](const In& v) { return ops::sort(v.m, 0); }},
    {"argsort", [](const In& v) { return ops::argsort(v.x, 1); }},
    {"argsort_int", [](const In& v) { return ops::argsort(v.n); }},
    {"top_k", [](const In& v) { return ops::top_k(v.x, 3).first; }},
    {"top_k_indices", [](const In& v) { return ops::top_k(v.x, 3).second; }},
    {"median", [](const In& v) { return ops::median(v.x); }},
    {"median_rows", [](const In& v) { return ops::median(v.x, {0, 2}, true); }},
    {"quantile", [](const In& v) { return ops::quantile(v.m, 0.3, {0}); }},
    {"quantiles", [](const In& v) { return ops::quantile(v.x, std::vector{0.0, 0.61, 1.0}, {1, 2}); }},
    {"stack", [](const In& v) { return ops::stack({v.x, v.y}, -2); }},
    {"unstack", [](const In& v) { return ops::unstack(v.x, 1).at(2); }},
    {"pad", [](const In& v) { return ops::pad(v.m, {{1, 0}, {0, 2}}, 7); }},
    {"pad_one", [](const In& v) { return ops::pad(v.m, 1); }},
    {"flip", [](const In& v) { return ops::flip(v.x, {0, 2}); }},
    {"flip_all", [](const In& v) { return ops::flip(v.m); }},
    {"roll", [](const In& v) { return ops::roll(v.x, {1, -2}, {0, 2}); }},
    {"roll_all", [](const In& v) { return ops::roll(v.m, 5); }},
    {"repeat", [](const In& v) { return ops::repeat(v.m, 2, 1); }},
    {"repeat_each", [](const In& v) { return ops::repeat(v.m, {1, 0, 2}, 1); }},
    {"repeat_all", [](const In& v) { return ops::repeat(v.n, 2); }},
    {"tile", [](const In& v) { return ops::tile(v.m, {2, 1, 2}); }},
    {"swapaxes", [](const In& v) { return ops::swapaxes(v.x, 0, -1); }},
    {"moveaxis", [](const In& v) { return ops::moveaxis(v.x, {0, 1}, {-1, 0}); }},
    {"take_along_axis", [](const In& v) { return ops::take_along_axis(v.x, v.i, 1); }},
    {"take_all", [](const In& v) { return ops::take_along_axis(v.m, row({11, -1, 3}, DType::int32)); }},
    {"meshgrid", [](const In&) { return ops::meshgrid({row({1, 2, 3}), row({4, 5})}).at(1); }},
    {"meshgrid_ij", [](const In&) { return ops::meshgrid({row({1, 2, 3}), row({4, 5})}, "ij").at(0); }},
    {"tril", [](const In& v) { return ops::tril(v.x, -1); }},
    {"triu", [](const In& v) { return ops::triu(v.m, 1); }},
    {"arange", [](const In&) { return ops::arange(-1, 1.3, 0.5); }},
    {"linspace", [](const In&) { return ops::linspace(1, 2, 5); }},
    {"linspace_open", [](const In&) { return ops::linspace(1, 2, 4, false); }},
    {"eye", [](const In&) { return ops::eye(2, 4, 1); }},
    {"dot", [](const In& v) { return ops::dot(v.x, v.m); }},
    {"vdot", [](const In& v) { return ops::vdot(v.m, v.m); }},
    {"inner", [](const In& v) { return ops::inner(v.x, ops::squeeze(ops::slice(v.y, 0, 0, 1), 0)); }},
    {"outer", [](const In& v) { return ops::outer(ops::slice(v.m, 0, 0, 2), ops::cast(v.n, DType::float32)); }},
    {"tensordot", [](const In& v) { return ops::tensordot(v.x, v.y, {{0, 2}, {0, 2}}); }},
    {"tensordot_one", [](const In& v) { return ops::tensordot(v.x, v.m, {1}); }},
};

std::vector<double> computed(const std::vector<double>& x, Value (*function)(Value)) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return numbers(run({tensor_of(shape, DType::float32, x)}, [&](std::span<const Value> v) { return function(v[0]); }));
}

}  // namespace

TEST_CASE("composed ops: Keras's shapes, dtypes and numbers", "[ops]") {
  const json file = golden("ops.json");
  const json &inputs = file.at("inputs"), &outputs = file.at("outputs");
  std::vector<Tensor> given;
  for (const char* name : {"x", "y", "m", "i", "n", "p", "h", "e"}) given.push_back(tensor_in(inputs.at(name)));
  CHECK(outputs.size() == std::size(cases));
  for (const Case& each : cases) {
    INFO(each.name);
    const Tensor got = run_on(default_device(), given, [&](std::span<const Value> v) {
      return each.compute({v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]});
    });
    const json& want = outputs.at(each.name);
    CHECK(name_of(got.dtype()) == want.at("dtype").get<std::string>());
    const Tensor numbers = tensor_of(shape_in(want.at("shape")), got.dtype(), numbers_in(want.at("value")));
    CHECK(difference(got, numbers, {1e-6, 4e-6}) == "");
  }
}

TEST_CASE("composed ops: infinities and NaN are those of Keras", "[ops]") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  using Numbers = std::vector<double>;
  CHECK(computed({nan, infinity, -infinity, 0}, ops::is_nan) == Numbers{1, 0, 0, 0});
  CHECK(computed({nan, infinity, -infinity, 0}, ops::is_inf) == Numbers{0, 1, 1, 0});
  CHECK(computed({infinity, -infinity, 100}, ops::expm1) == Numbers{infinity, -1, infinity});
  CHECK(computed({infinity, -infinity}, ops::round) == Numbers{infinity, -infinity});
  CHECK(computed({infinity, -infinity}, ops::arcsinh) == Numbers{infinity, -infinity});
  CHECK(computed({infinity}, ops::arccosh) == Numbers{infinity});
  const auto logsumexp = [](Value x) { return ops::logsumexp(x); };
  CHECK(computed({-infinity, -infinity}, logsumexp) == Numbers{-infinity});
  CHECK(computed({-infinity, 3, -infinity}, logsumexp) == Numbers{3});
  CHECK(computed({infinity, 3}, logsumexp) == Numbers{infinity});
}

TEST_CASE("arctan2: the sign of a zero decides, as in IEEE 754", "[ops]") {
  const std::vector<double> y{0, -0.0, 0, -0.0, 0, -0.0}, x{-1, -1, -0.0, -0.0, 1, 1};
  std::vector<double> both = y, expected;
  both.insert(both.end(), x.begin(), x.end());
  for (std::size_t i = 0; i < y.size(); ++i) expected.push_back(std::atan2(y[i], x[i]));
  const std::vector<double> got =
      computed(both, [](Value v) { return ops::arctan2(ops::slice(v, 0, 0, 6), ops::slice(v, 0, 6, 6)); });
  CHECK(difference(got, expected, {1e-6}) == "");
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::signbit(got[i]) == std::signbit(expected[i]));
}

TEST_CASE("composed ops: inverse hyperbolic functions of large numbers", "[ops]") {
  const std::vector<double> expected{46.744846, -46.744846, 46.744846};  // Keras 3.15.1
  std::vector<double> got = computed({1e20, -1e20}, ops::arcsinh);
  got.push_back(computed({1e20}, ops::arccosh).front());
  CHECK(difference(got, expected, {1e-6, 4e-6}) == "");
  for (const double each : computed({-1e8, -1e6, -1, 0.5}, ops::arccosh)) CHECK(std::isnan(each));
  // Of float16, whose largest number is 65504.
  const Tensor half =
      run({tensor_of({2}, DType::float16, {300, -30000})}, [](std::span<const Value> x) { return ops::arcsinh(x[0]); });
  CHECK(difference(half, tensor_of({2}, DType::float16, {6.397, -11.002}), {1e-2, 1e-3}) == "");
}

TEST_CASE("composed ops: extents of 0, and scalars", "[ops]") {
  using Numbers = std::vector<double>;
  CHECK(computed({}, [](Value x) { return ops::prod(x); }) == Numbers{1});
  CHECK(computed({}, [](Value x) { return ops::all(x); }) == Numbers{1});
  CHECK(computed({}, [](Value x) { return ops::any(x); }) == Numbers{0});
  CHECK(computed({2}, [](Value x) { return ops::var(ops::reshape(x, Shape{})); }) == Numbers{0});
  CHECK(computed({2}, [](Value x) { return ops::dot(ops::reshape(x, Shape{}), x); }) == Numbers{4});
  CHECK(computed({}, [](Value) { return ops::arange(1, 0); }).empty());
}

TEST_CASE("composed ops: an index out of range gives NaN", "[ops]") {
  const std::vector<double> got =
      computed({1, 2}, [](Value x) { return ops::take_along_axis(x, row({-2, 1, 2, -3}, DType::int32), 0); });
  REQUIRE(got.size() == 4);
  CHECK((got[0] == 1 && got[1] == 2 && std::isnan(got[2]) && std::isnan(got[3])));
}

TEST_CASE("composed ops reject invalid arguments", "[ops]") {
  const auto refused = [](Value (*function)(Value)) { return error_of([&] { computed({1, 2, 3}, function); }); };
  CHECK_THAT(refused([](Value x) { return ops::pad(x, {{1, 2}, {3, 4}}); }), ContainsSubstring("2 widths for 1 axes"));
  CHECK_THAT(refused([](Value x) { return ops::pad(x, -1); }), ContainsSubstring("a width of -1"));
  CHECK_THAT(refused([](Value x) { return ops::roll(x, {1, 2}, 0); }), ContainsSubstring("2 shifts along 1 axes"));
  CHECK_THAT(refused([](Value x) { return ops::repeat(x, {1, 2}); }), ContainsSubstring("repeats = [1, 2] of 3"));
  CHECK_THAT(refused([](Value x) { return ops::moveaxis(x, {0, 0}, {0, 0}); }), ContainsSubstring("each once"));
  CHECK_THAT(refused([](Value x) { return ops::tensordot(x, x); }), ContainsSubstring("axes = 2"));
  CHECK_THAT(refused([](Value x) { return ops::tril(x); }), ContainsSubstring("[tril] shape [3]"));
  CHECK_THAT(refused([](Value) { return ops::arange(0, 1, 0.5, DType::int32); }), ContainsSubstring("whole numbers"));
  CHECK_THAT(refused([](Value x) { return ops::top_k(x, 4).first; }), ContainsSubstring("[top_k] k = 4 for shape [3]"));
  CHECK_THAT(refused([](Value x) { return ops::quantile(x, 1.1); }), ContainsSubstring("[quantile] q = 1.1"));
  CHECK_THAT(refused([](Value x) { return ops::median(ops::slice(x, 0, 0, 0)); }),
             ContainsSubstring("[median] shape [0] - expected at least one element"));
  CHECK_THAT(refused([](Value) { return ops::stack({}); }), ContainsSubstring("no tensors"));
  CHECK_THAT(refused([](Value x) { return ops::normalize(x, -1, 2); }),  // Keras's third argument is the order
             ContainsSubstring("[normalize] epsilon = 2 - expected a number between 0 and 1"));
}

TEST_CASE("composed ops: a number beside a Value must be one of its dtype", "[ops][errors]") {
  const auto error = [](DType dtype, const std::function<Value(Value)>& compute) {
    return error_of([&] { run({Tensor({2}, dtype)}, [&](std::span<const Value> x) { return compute(x[0]); }); });
  };
  CHECK_THAT(error(DType::int32, [](Value x) { return x * 0.5; }),
             ContainsSubstring("[scalar] the number 0.5 beside a Value of int32"));
  CHECK_THAT(error(DType::int32, [](Value x) { return ops::clip(x, -0.5, 2.5); }),
             ContainsSubstring("[scalar] the number"));
  CHECK_THAT(error(DType::boolean, [](Value x) { return ops::where(x, ops::scalar(2, x), x); }),
             ContainsSubstring("the number 2 beside a Value of bool"));
  CHECK(error(DType::int32, [](Value x) { return x * 3 - 1; }) == "no error");
  CHECK(error(DType::boolean, [](Value x) { return ops::equal(x, ops::scalar(1, x)); }) == "no error");
  CHECK(error(DType::float32, [](Value x) { return x * 0.5; }) == "no error");
}

TEST_CASE("composed ops: concatenate and split work along the first axis by default, as in Keras", "[ops]") {
  const Tensor x = Tensor::from<float>({2, 1}, {1, 2});
  const auto both = [](std::span<const Value> v) { return ops::concatenate({v[0], v[0]}); };
  CHECK(run({x}, both).shape() == Shape{4, 1});
  CHECK(run({x}, [](std::span<const Value> v) { return ops::split(v[0], 2)[1]; }).shape() == Shape{1, 1});
}

TEST_CASE("composed ops: on SymbolicTensors they are saved as Keras's ops", "[ops][symbolic]") {
  const SymbolicTensor x = layers::input({.shape = {2, 3}, .name = "x"}), y = x * 2;
  Functional model(
      {x},
      {symbolic(ops::roll, x, 1, Integers{-1}), symbolic(ops::pad, x, Margins{{0, 0}, {1, 0}, {0, 2}}, 3.0),
       symbolic(ops::pad, x, Margins{{0, 0}, {1, 1}, {0, 0}}, 0.0), symbolic(ops::stack, std::vector{x, y}, 1),
       symbolic(ops::std, x, std::vector<std::ptrdiff_t>{2}, true),
       symbolic(ops::min, x, std::vector<std::ptrdiff_t>{-1}, false), symbolic(ops::repeat, x, 2, std::optional(1)),
       symbolic(ops::normalize, x, -1, 1e-7), symbolic(ops::not_equal, x, y), symbolic(ops::expm1, x),
       symbolic(ops::flip, x, Integers{1}), symbolic(ops::swapaxes, x, 1, 2), symbolic(ops::unstack, x, 1).at(1),
       symbolic(ops::diff, x, 1, -1), symbolic(ops::tril, x, -1), symbolic(ops::zeros_like, x, std::optional<DType>()),
       symbolic(ops::tensordot, x, Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}), std::vector<Integers>{1})});
  const std::string text = to_json<Layer>(model);
  const LayerPtr loaded = from_json<Layer>(text);
  CHECK(to_json<Layer>(*loaded) == text);
  const std::vector<Tensor> data{Tensor::from<float>({2, 2, 3}, {1, -2, 3, 4, 5, -6, 7, 8, 9, -1, 0, 2})};
  auto same = std::dynamic_pointer_cast<Functional>(loaded);
  REQUIRE(same != nullptr);
  const std::vector<Tensor> got = same->call_all(data), want = model.call_all(data);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i], want[i]));
  const json written = json::parse(text);
  for (const json& layer : written["config"]["layers"])
    if (layer["class_name"] == "Pad") {
      CHECK_FALSE(layer["config"].contains("constant_values"));
      CHECK(layer["inbound_nodes"][0]["kwargs"].contains("constant_values"));
    }
}

TEST_CASE("sparsemax: the nearest point whose entries have a sum of 1, along any axis", "[ops][activations]") {
  // Numbers of https://github.com/keras-team/keras/pull/23469, which corrects Keras 3.15.1.
  CHECK(difference(computed({0.1, 0.2, 0.3, 0.4, 0.5}, [](Value x) { return activations::sparsemax(x); }),
                   std::vector<double>{0, 0.1, 0.2, 0.3, 0.4}, {1e-6}) == "");
  const auto middle = [](Value x) { return activations::sparsemax(ops::reshape(x, {1, 3, 2}), 1); };
  CHECK(difference(computed({0, 1, 0.5, 1, 1, 0}, middle), std::vector<double>{0, 0.5, 0.25, 0.5, 0.75, 0}, {1e-6}) ==
        "");
}
