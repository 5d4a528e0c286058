#include <algorithm>
#include <limits>

#include "etude/activations/activations.hpp"
#include "etude/layers/operation.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
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
      x = truth(x);
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
  return activations::get(std::string(form.substr(0, form.find(' '))))(floats(a.value()));
}
template <class Options, Value (*F)(Value, const Options&)> Outputs activation_of(A a) {
  Json config = a.config();
  config.erase("name");
  return F(floats(a.value()), options_from_json<Options>(a.where(), config));
}
template <Value (*F)(Value, std::ptrdiff_t)> Outputs along_axis(A a) {
  return F(floats(a.value()), a.option<std::ptrdiff_t>("axis", -1));
}

constexpr char numpy[] = "keras.src.ops.numpy", nn[] = "keras.src.ops.nn", core[] = "keras.src.ops.core",
               math[] = "keras.src.ops.math", linalg[] = "keras.src.ops.linalg";

constexpr OpRow table[] = {
    {"Cast", core, "cast @ dtype", [](A a) -> Outputs { return ops::cast(a.value(), dtype_of_keras(a, "dtype")); }},
    {"StopGradient", core, "stop_gradient @", [](A a) -> Outputs { return ops::stop_gradient(a.value()); }},
    {"Clip", numpy, "clip @ x_min x_max", clip},
    {"Where", numpy, "where @ @ @", where},
    {"NotEqual", numpy, "-",
     [](A a) -> Outputs {
       const std::vector<Value> x = a.alike(0, 2);
       return ops::logical_not(ops::equal(x[0], x[1]));
     }},
    {"LogicalXor", numpy, "-",
     [](A a) -> Outputs {
       return ops::logical_not(
           ops::equal(ops::cast(truth(a.value(0)), DType::int32), ops::cast(truth(a.value(1)), DType::int32)));
     }},
    {"Isnan", numpy, "-", [](A a) -> Outputs { return ops::logical_not(ops::equal(a.value(), a.value())); }},
    {"Reciprocal", numpy, "-", [](A a) -> Outputs { return 1 / floats(a.value()); }},
    {"Rsqrt", math, "-", [](A a) -> Outputs { return 1 / ops::sqrt(floats(a.value())); }},
    {"Ceil", numpy, "-", [](A a) -> Outputs { return -ops::floor(-floats(a.value())); }},
    {"FloorDivide", numpy, "-",
     [](A a) -> Outputs {
       const std::vector<Value> x = a.alike(0, 2);
       return ops::floor(x[0] / x[1]);
     }},
    {"Mod", numpy, "-",
     [](A a) -> Outputs {
       const std::vector<Value> x = a.alike(0, 2);
       return x[0] - ops::floor(x[0] / x[1]) * x[1];
     }},

    {"Sum", numpy, "sum @ axis keepdims=false", sum},
    {"Mean", numpy, "mean @ axis keepdims=false", mean},
    {"Average", numpy, "- axis ~weights=null", mean},
    {"Max", numpy, "max @ axis keepdims=false ~initial=null", max},
    {"Min", numpy, "- axis keepdims ~initial=null", min},
    {"Amax", numpy, "- axis keepdims", max},
    {"Amin", numpy, "- axis keepdims", min},
    {"Prod", numpy, "- axis keepdims ~dtype=null", prod},
    {"Var", numpy, "- axis keepdims", var},
    {"Std", numpy, "- axis keepdims", std_},
    {"Any", numpy, "- axis keepdims", any},
    {"All", numpy, "- axis keepdims", all},
    {"CountNonzero", numpy, "- axis", count_nonzero},
    {"Logsumexp", math, "- axis keepdims", logsumexp},
    {"Norm", linalg, "- ord axis keepdims", norm},
    {"Normalize", nn, "- axis ~order=2 epsilon", normalize},
    {"Argmax", numpy, "argmax @ +axis=-1 +keepdims=false", argmax},
    {"Argmin", numpy, "- axis keepdims", argmin},
    {"Cumsum", numpy, "cumsum @ axis !false !false ~dtype=null", cumsum},

    {"Matmul", numpy, "matmul @ @ !false !false", matmul},
    {"Dot", numpy, "-", dot},
    {"Tensordot", numpy, "- axes", tensordot},
    {"Einsum", numpy, "einsum subscripts @ @", einsum},

    {"Reshape", numpy, "reshape @ newshape",
     [](A a) -> Outputs { return ops::reshape(a.value(), a.option<Shape>("newshape")); }},
    {"BroadcastTo", numpy, "broadcast_to @ shape",
     [](A a) -> Outputs { return ops::broadcast_to(a.value(), a.option<Shape>("shape")); }},
    {"Ravel", numpy, "-", [](A a) -> Outputs { return ops::reshape(a.value(), {-1}); }},
    {"Transpose", numpy, "transpose @ axes", transpose},
    {"Swapaxes", numpy, "- axis1 axis2", swapaxes},
    {"Moveaxis", numpy, "- source destination", moveaxis},
    {"ExpandDims", numpy, "expand_dims @ axis", expand_dims},
    {"Squeeze", numpy, "squeeze @ axis", squeeze},
    {"Flip", numpy, "reverse @ axis", flip},
    {"Roll", numpy, "- shift axis", roll},
    {"Repeat", numpy, "- repeats axis", repeat},
    {"Tile", numpy, "- repeats", tile},
    {"Pad", numpy, "- pad_width ~mode=\"constant\" constant_values", pad},
    {"Concatenate", numpy, "concatenate @ axis=-1",
     [](A a) -> Outputs { return ops::concatenate(a.list(), a.option<std::ptrdiff_t>("axis")); }},
    {"Stack", numpy, "- axis", stack},
    {"Split", numpy, "split @ indices_or_sections axis=-1", split},
    {"Unstack", core, "- num axis", unstack},
    {"GetItem", numpy, "slice @ axis first count", get_item},
    {"Slice", core, "- shape", slice},
    {"Take", numpy, "take @ @ +axis=0", take},
    {"OneHot", nn, "one_hot @ num_classes dtype=floatx +axis=-1 ~sparse=false", one_hot},
    {"ZerosLike", numpy, "- dtype", [](A a) -> Outputs { return full_like(a, 0); }},
    {"OnesLike", numpy, "- dtype", [](A a) -> Outputs { return full_like(a, 1); }},
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
