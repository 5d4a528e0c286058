#pragma once

/// Private to core/saving: the functions of op_table.cpp, which compute ops of Keras from their arguments.
#include "etude/saving/detail/op_arguments.hpp"

namespace etude::builders {

/// A dtype of the config. Keras's int64 is int32, as on JAX.
DType dtype_of_keras(const OpArguments& a, const char* name);
Outputs full_like(const OpArguments& a, double number);
Outputs where(const OpArguments& a);

Outputs sum(const OpArguments& a);
Outputs mean(const OpArguments& a);
Outputs max(const OpArguments& a);
Outputs min(const OpArguments& a);
Outputs prod(const OpArguments& a);
Outputs var(const OpArguments& a);
Outputs std_(const OpArguments& a);
Outputs any(const OpArguments& a);
Outputs all(const OpArguments& a);
Outputs count_nonzero(const OpArguments& a);
Outputs logsumexp(const OpArguments& a);
Outputs norm(const OpArguments& a);
Outputs normalize(const OpArguments& a);
Outputs argmax(const OpArguments& a);
Outputs argmin(const OpArguments& a);
Outputs cumsum(const OpArguments& a);
Outputs sort(const OpArguments& a);
Outputs argsort(const OpArguments& a);
Outputs top_k(const OpArguments& a);
Outputs median(const OpArguments& a);
Outputs softmax(const OpArguments& a);
Outputs log_softmax(const OpArguments& a);

Outputs matmul(const OpArguments& a);
Outputs tensordot(const OpArguments& a);
Outputs einsum(const OpArguments& a);

Outputs transpose(const OpArguments& a);
Outputs swapaxes(const OpArguments& a);
Outputs moveaxis(const OpArguments& a);
Outputs expand_dims(const OpArguments& a);
Outputs squeeze(const OpArguments& a);
Outputs flip(const OpArguments& a);
Outputs roll(const OpArguments& a);
Outputs repeat(const OpArguments& a);
Outputs tile(const OpArguments& a);
Outputs pad(const OpArguments& a);
Outputs stack(const OpArguments& a);
Outputs split(const OpArguments& a);
Outputs unstack(const OpArguments& a);
Outputs get_item(const OpArguments& a);
Outputs slice(const OpArguments& a);
Outputs take(const OpArguments& a);
Outputs one_hot(const OpArguments& a);

/// x with axis `from` at the place `to`.
Value moved(Value x, std::ptrdiff_t from, std::ptrdiff_t to);

}  // namespace etude::builders
