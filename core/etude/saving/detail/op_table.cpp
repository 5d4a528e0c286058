#include <algorithm>
#include <limits>

#include "etude/activations/activations.hpp"
#include "etude/layers/operation.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/products.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/statistics.hpp"
#include "etude/saving/detail/op_arguments.hpp"
#include "etude/saving/detail/op_builders.hpp"

namespace etude {
namespace builders {
namespace {

using A = const OpArguments&;

/// An op of the table of elementwise ops.
Outputs elementwise(A a) {
  const ElementwiseOp& op = *elementwise_op_of_class(a.row().class_name);
  const std::string name = op.class_name;
  const std::size_t count = op.unary ? 1 : 2;
  check(a.count() == count, ErrorKind::data, a.where(), a.count(), " operands - expected ", count,
        " - check the text.");
  std::vector<Value> operands = a.alike(0, count);
  const bool keeps_integers =
      std::string_view("Negative Absolute Sign Square Relu ").find(name + ' ') != std::string_view::npos;
  for (Value& x : operands) {
    if (name.starts_with("Logical"))
      x = ops::to_bool(x);
    else if (op.unary && !keeps_integers && !is_floating(x.dtype()))
      x = ops::cast(x, floatx());
  }
  return detail::compute(op, std::vector<std::optional<double>>(count), std::move(operands));
}

/// A bound that is null is no bound.
Outputs clip(A a) {
  const Value x = a.value();
  const bool is_byte = size_of(x.dtype()) == 1;
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = is_floating(x.dtype()) ? -infinity : is_byte ? 0 : -0x1p31;
  const double high = is_floating(x.dtype()) ? infinity : is_byte ? 255 : 0x1p31 - 1;
  return ops::clip(x, a.option("x_min", low), a.option("x_max", high));
}

/// An activation without options.
Outputs activation(A a) {
  const std::string_view form = a.row().form;
  return activations::get(std::string(form.substr(0, form.find(' '))))(ops::to_floats(a.value()));
}
template <class Options, Value (*F)(Value, const Options&)> Outputs activation_of(A a) {
  Json config = a.config();
  config.erase("name");
  return F(ops::to_floats(a.value()), options_from_json<Options>(a.where(), config));
}
template <Value (*F)(Value)> Outputs of_one(A a) { return F(a.value()); }
template <Value (*F)(Value, Value)> Outputs of_two(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  return F(x[0], x[1]);
}
template <Value (*F)(Value, std::ptrdiff_t)> Outputs along_axis(A a) {
  return F(ops::to_floats(a.value()), a.option<std::ptrdiff_t>("axis", -1));
}

constexpr char numpy[] = "keras.src.ops.numpy", nn[] = "keras.src.ops.nn", core[] = "keras.src.ops.core",
               math[] = "keras.src.ops.math", linalg[] = "keras.src.ops.linalg";

constexpr OpRow table[] = {
    {"Cast", core, "cast @ dtype", [](A a) -> Outputs { return ops::cast(a.value(), dtype_of_keras(a, "dtype")); }},
    {"StopGradient", core, "stop_gradient @", [](A a) -> Outputs { return ops::stop_gradient(a.value()); }},
    {"Clip", numpy, "clip @ x_min x_max", clip},
    {"Where", numpy, "where @ @ @", where},
    {"NotEqual", numpy, "not_equal @ @", of_two<ops::not_equal>},
    {"LogicalXor", numpy, "logical_xor @ @",
     [](A a) -> Outputs { return ops::logical_xor(ops::to_bool(a.value(0)), ops::to_bool(a.value(1))); }},
    {"FloorDivide", numpy, "floor_divide @ @", of_two<ops::floor_divide>},
    {"Mod", numpy, "mod @ @", of_two<ops::mod>},
    {"Logaddexp", numpy, "logaddexp @ @", of_two<ops::logaddexp>},
    {"Isnan", numpy, "is_nan @", of_one<ops::is_nan>},
    {"Isinf", numpy, "is_inf @", of_one<ops::is_inf>},
    {"Reciprocal", numpy, "reciprocal @", of_one<ops::reciprocal>},
    {"Rsqrt", math, "rsqrt @", of_one<ops::rsqrt>},
    {"Ceil", numpy, "ceil @", of_one<ops::ceil>},
    {"Round", numpy, "round @ ~decimals=0", of_one<ops::round>},
    {"Trunc", numpy, "trunc @", of_one<ops::trunc>},
    {"Expm1", numpy, "expm1 @", of_one<ops::expm1>},
    {"Exp2", numpy, "exp2 @", of_one<ops::exp2>},
    {"Log2", numpy, "log2 @", of_one<ops::log2>},
    {"Log10", numpy, "log10 @", of_one<ops::log10>},
    {"Tan", numpy, "tan @", of_one<ops::tan>},
    {"Arcsin", numpy, "arcsin @", of_one<ops::arcsin>},
    {"Arccos", numpy, "arccos @", of_one<ops::arccos>},
    {"Arctan2", numpy, "arctan2 @ @", of_two<ops::arctan2>},
    {"Arcsinh", numpy, "arcsinh @", of_one<ops::arcsinh>},
    {"Arccosh", numpy, "arccosh @", of_one<ops::arccosh>},
    {"Arctanh", numpy, "arctanh @", of_one<ops::arctanh>},
    {"Sinh", numpy, "sinh @", of_one<ops::sinh>},
    {"Cosh", numpy, "cosh @", of_one<ops::cosh>},

    {"Sum", numpy, "sum @ axis keepdims=false", sum},
    {"Mean", numpy, "mean @ axis keepdims=false", mean},
    {"Average", numpy, "- axis ~weights=null", mean},
    {"Max", numpy, "max @ axis keepdims=false ~initial=null", max},
    {"Min", numpy, "min @ axis keepdims=false ~initial=null", min},
    {"Amax", numpy, "- axis keepdims", max},
    {"Amin", numpy, "- axis keepdims", min},
    {"Prod", numpy, "prod @ axis keepdims=false ~dtype=null", prod},
    {"Var", numpy, "var @ axis keepdims=false", var},
    {"Std", numpy, "std @ axis keepdims=false", std_},
    {"Any", numpy, "any @ axis keepdims=false", any},
    {"All", numpy, "all @ axis keepdims=false", all},
    {"CountNonzero", numpy, "count_nonzero @ axis !false", count_nonzero},
    {"Logsumexp", math, "logsumexp @ axis keepdims=false", logsumexp},
    {"Norm", linalg, "norm @ +ord=null axis keepdims=false", norm},
    {"Normalize", nn, "normalize @ axis=-1 epsilon=1e-7 ~order=2", normalize},
    {"Argmax", numpy, "argmax @ +axis=-1 +keepdims=false", argmax},
    {"Argmin", numpy, "argmin @ +axis=-1 +keepdims=false", argmin},
    {"Cumsum", numpy, "cumsum @ axis !false !false ~dtype=null", cumsum},

    {"Sort", numpy, "sort @ axis=-1", sort},
    {"Argsort", numpy, "argsort @ axis=-1 !false", argsort},
    {"TopK", math, "- k sorted=true", top_k},
    {"Median", numpy, "median @ axis keepdims=false", median},

    {"Matmul", numpy, "matmul @ @ !false !false", matmul},
    {"Dot", numpy, "dot @ @", of_two<ops::dot>},
    {"Vdot", numpy, "vdot @ @", of_two<ops::vdot>},
    {"Inner", numpy, "inner @ @", of_two<ops::inner>},
    {"Outer", numpy, "outer @ @", of_two<ops::outer>},
    {"Tensordot", numpy, "tensordot @ @ axes=2", tensordot},
    {"Einsum", numpy, "einsum subscripts @ @", einsum},

    {"Reshape", numpy, "reshape @ newshape",
     [](A a) -> Outputs { return ops::reshape(a.value(), a.option<Shape>("newshape")); }},
    {"BroadcastTo", numpy, "broadcast_to @ shape",
     [](A a) -> Outputs { return ops::broadcast_to(a.value(), a.option<Shape>("shape")); }},
    {"Ravel", numpy, "-", [](A a) -> Outputs { return ops::reshape(a.value(), {-1}); }},
    {"Transpose", numpy, "transpose @ axes", transpose},
    {"Swapaxes", numpy, "swapaxes @ axis1 axis2", swapaxes},
    {"Moveaxis", numpy, "moveaxis @ source destination", moveaxis},
    {"ExpandDims", numpy, "expand_dims @ axis", expand_dims},
    {"Squeeze", numpy, "squeeze @ axis", squeeze},
    {"Flip", numpy, "reverse @ axis", flip},
    {"Flip", numpy, "flip @ axis", flip},
    {"Roll", numpy, "roll @ shift axis", roll},
    {"Repeat", numpy, "repeat @ repeats axis", repeat},
    {"Tile", numpy, "tile @ repeats", tile},
    {"Pad", numpy, "pad @ pad_width constant_values ~mode=\"constant\"", pad},
    {"Concatenate", numpy, "concatenate @ axis=-1",
     [](A a) -> Outputs { return ops::concatenate(a.list(), a.option<std::ptrdiff_t>("axis")); }},
    {"Stack", numpy, "stack @ axis=0", stack},
    {"Split", numpy, "split @ indices_or_sections axis=-1", split},
    {"Unstack", core, "unstack @ axis=0 +num=null", unstack},
    {"GetItem", numpy, "slice @ axis first count", get_item},
    {"Slice", core, "- shape", slice},
    {"Take", numpy, "take @ @ +axis=0", take},
    {"TakeAlongAxis", numpy, "take_along_axis @ @ axis",
     [](A a) -> Outputs {
       return ops::take_along_axis(a.value(0), a.value(1), a.option<std::optional<std::ptrdiff_t>>("axis"));
     }},
    {"Diff", numpy, "diff @ n=1 axis=-1",
     [](A a) -> Outputs {
       return ops::diff(a.value(), a.option<std::int64_t>("n", 1), a.option<std::ptrdiff_t>("axis", -1));
     }},
    {"Tril", numpy, "tril @ k=0", [](A a) -> Outputs { return ops::tril(a.value(), a.option<std::int64_t>("k")); }},
    {"Triu", numpy, "triu @ k=0", [](A a) -> Outputs { return ops::triu(a.value(), a.option<std::int64_t>("k")); }},
    {"OneHot", nn, "one_hot @ num_classes dtype=floatx +axis=-1 ~sparse=false", one_hot},
    {"ZerosLike", numpy, "zeros_like @ dtype", [](A a) -> Outputs { return full_like(a, 0); }},
    {"OnesLike", numpy, "ones_like @ dtype", [](A a) -> Outputs { return full_like(a, 1); }},
    {"FullLike", numpy, "- dtype",
     [](A a) -> Outputs {
       double number = 0;
       read_field(a.argument(1), number, {a.where(), "fill_value"});
       return full_like(a, number);
     }},

    {"Softmax", nn, "softmax @ +axis=-1", softmax},
    {"LogSoftmax", nn, "log_softmax @ +axis=-1", log_softmax},
    {"Relu6", nn, "relu6 @", activation},
    {"Selu", nn, "selu @", activation},
    {"Silu", nn, "silu @", activation},
    {"Softsign", nn, "softsign @", activation},
    {"LogSigmoid", nn, "log_sigmoid @", activation},
    {"HardSigmoid", nn, "hard_sigmoid @", activation},
    {"HardSilu", nn, "hard_silu @", activation},
    {"HardTanh", nn, "hard_tanh @", activation},
    {"TanhShrink", nn, "tanh_shrink @", activation},
    {"SparsePlus", nn, "sparse_plus @", activation},
    {"SparseSigmoid", nn, "sparse_sigmoid @", activation},
    {"LeakyRelu", nn, "leaky_relu @ {negative_slope=0.2",
     activation_of<activations::LeakyReluOptions, activations::leaky_relu>},
    {"Elu", nn, "elu @ {alpha=1.0", activation_of<activations::EluOptions, activations::elu>},
    {"Celu", nn, "celu @ {alpha=1.0", activation_of<activations::CeluOptions, activations::celu>},
    {"Gelu", nn, "gelu @ {approximate=false", activation_of<activations::GeluOptions, activations::gelu>},
    {"Threshold", nn, "threshold @ {threshold=0.0 {default_value=0.0",
     activation_of<activations::ThresholdOptions, activations::threshold>},
    {"HardShrink", nn, "hard_shrink @ {threshold=0.5",
     activation_of<activations::HardShrinkOptions, activations::hard_shrink>},
    {"SoftShrink", nn, "soft_shrink @ {threshold=0.5",
     activation_of<activations::SoftShrinkOptions, activations::soft_shrink>},
    {"Squareplus", nn, "squareplus @ {b=4", activation_of<activations::SquareplusOptions, activations::squareplus>},
    {"Glu", nn, "glu @ axis=-1", along_axis<activations::glu>},
    {"Sparsemax", nn, "sparsemax @ axis=-1", along_axis<activations::sparsemax>},
};

}  // namespace
}  // namespace builders

using builders::table;

std::optional<OpRow> op_row_of_class(std::string_view class_name) {
  if (const ElementwiseOp* op = elementwise_op_of_class(class_name))
    return OpRow{op->class_name, op->module, op->unary ? "- @" : "- @ @", builders::elementwise};
  const auto found = std::ranges::find_if(table, [&](const OpRow& row) { return row.class_name == class_name; });
  return found == std::end(table) ? std::nullopt : std::optional(*found);
}

std::optional<OpRow> op_row(std::string_view function) {
  if (const ElementwiseOp* op = elementwise_op(function)) return op_row_of_class(op->class_name);
  const auto found = std::ranges::find_if(table, [&](const OpRow& row) {
    const std::string_view form = row.form;
    return form.substr(0, form.find(' ')) == function;
  });
  return found == std::end(table) ? std::nullopt : std::optional(*found);
}

}  // namespace etude
