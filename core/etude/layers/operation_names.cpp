#include <algorithm>

#include "etude/activations/activations.hpp"
#include "etude/layers/operation.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/einsum.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/products.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/sorting.hpp"
#include "etude/ops/statistics.hpp"

namespace etude {
namespace {

using Function = void (*)();
struct Named {
  Function function;
  const char* name;  // as in the table of saving/detail/op_table.cpp
};

template <class R, class... A> Named named(const char* name, R (*function)(A...)) {
  return {reinterpret_cast<Function>(function), name};
}

}  // namespace

std::string_view detail::op_name(Function function) {
  static const Named all[] = {
      named("cast", ops::cast),
      named("clip", ops::clip),
      named("where", ops::where),
      named("stop_gradient", ops::stop_gradient),
      named<Value, Value, Value>("matmul", ops::matmul),
      named<Value, Value, Value, bool, bool>("matmul", ops::matmul),
      named("einsum", ops::einsum),
      named("take", ops::take),
      named("sum", ops::sum),
      named("mean", ops::mean),
      named("max", ops::max),
      named("cumsum", ops::cumsum),
      named("argmax", ops::argmax),
      named("one_hot", ops::one_hot),
      named("softmax", ops::softmax),
      named("log_softmax", ops::log_softmax),
      named("broadcast_to", ops::broadcast_to),
      named("reshape", ops::reshape),
      named("expand_dims", ops::expand_dims),
      named("squeeze", ops::squeeze),
      named("slice", ops::slice),
      named("reverse", ops::reverse),
      named("concatenate", ops::concatenate),
      named("split", ops::split),
      named("transpose", ops::transpose),
      named("reciprocal", ops::reciprocal),
      named("rsqrt", ops::rsqrt),
      named("ceil", ops::ceil),
      named("round", ops::round),
      named("trunc", ops::trunc),
      named("expm1", ops::expm1),
      named("exp2", ops::exp2),
      named("log2", ops::log2),
      named("log10", ops::log10),
      named("tan", ops::tan),
      named("arcsin", ops::arcsin),
      named("arccos", ops::arccos),
      named("arctan2", ops::arctan2),
      named("arcsinh", ops::arcsinh),
      named("arccosh", ops::arccosh),
      named("arctanh", ops::arctanh),
      named("sort", ops::sort),
      named("argsort", ops::argsort),
      named("median", ops::median),
      named("sinh", ops::sinh),
      named("cosh", ops::cosh),
      named("is_nan", ops::is_nan),
      named("is_inf", ops::is_inf),
      named("not_equal", ops::not_equal),
      named("logical_xor", ops::logical_xor),
      named("floor_divide", ops::floor_divide),
      named("mod", ops::mod),
      named("logaddexp", ops::logaddexp),
      named("min", ops::min),
      named("prod", ops::prod),
      named("any", ops::any),
      named("all", ops::all),
      named("count_nonzero", ops::count_nonzero),
      named("var", ops::var),
      named("std", ops::std),
      named("logsumexp", ops::logsumexp),
      named("norm", ops::norm),
      named("normalize", ops::normalize),
      named("argmin", ops::argmin),
      named("diff", ops::diff),
      named("stack", ops::stack),
      named("unstack", ops::unstack),
      named("pad", ops::pad),
      named("flip", ops::flip),
      named("roll", ops::roll),
      named("repeat", ops::repeat),
      named("tile", ops::tile),
      named("swapaxes", ops::swapaxes),
      named("moveaxis", ops::moveaxis),
      named("take_along_axis", ops::take_along_axis),
      named("tril", ops::tril),
      named("triu", ops::triu),
      named("zeros_like", ops::zeros_like),
      named("ones_like", ops::ones_like),
      named("dot", ops::dot),
      named("vdot", ops::vdot),
      named("inner", ops::inner),
      named("outer", ops::outer),
      named("tensordot", ops::tensordot),
      named("relu6", activations::relu6),
      named("selu", activations::selu),
      named("silu", activations::silu),
      named("softsign", activations::softsign),
      named("log_sigmoid", activations::log_sigmoid),
      named("hard_sigmoid", activations::hard_sigmoid),
      named("hard_silu", activations::hard_silu),
      named("hard_tanh", activations::hard_tanh),
      named("tanh_shrink", activations::tanh_shrink),
      named("sparse_plus", activations::sparse_plus),
  };
  const auto* found = std::ranges::find(all, function, &Named::function);
  return found == std::end(all) ? "" : found->name;
}

}  // namespace etude
