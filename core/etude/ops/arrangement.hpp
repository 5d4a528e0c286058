#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/base/margins.hpp"
#include "etude/graph/graph.hpp"

/// Functions that join, repeat, move and select elements, composed of the ops of shapes; and constant tensors. A
/// negative axis counts from the end.
namespace etude::ops {

/// Tensors of one shape along a new axis before `axis`. Throws Error(value) for an empty list.
Value stack(const std::vector<Value>& x, std::ptrdiff_t axis = 0);
/// The entries of `axis`, without it.
std::vector<Value> unstack(Value x, std::ptrdiff_t axis = 0);
/// Pads x with `number`: `width` elements at both ends of each axis, {before, after} of each axis, or such a pair for
/// each axis. Throws Error(value) for other widths.
Value pad(Value x, const Margins& width, double number = 0);
/// The entries of the axes from the last to the first; of all axes if none are given.
Value flip(Value x, const Integers& axes = {});
/// x shifted along the axes. Elements that are shifted beyond one end are inserted at the other. Without axes, x is
/// flattened first, and gets its shape back. `shift` has one number, or one for each axis.
Value roll(Value x, const Integers& shift, const Integers& axes = {});
/// Repeats each entry of `axis`. `repeats` has one number, or one for each entry. Without an axis, x is flattened
/// first.
Value repeat(Value x, const Integers& repeats, std::optional<std::ptrdiff_t> axis = {});
/// Repeats x as a whole, along the last axes; `repeats` has the number for each of them.
Value tile(Value x, const Integers& repeats);
/// x with two axes exchanged.
Value swapaxes(Value x, std::ptrdiff_t axis1, std::ptrdiff_t axis2);
/// x with axes `source` at the places `destination`; the others keep their order.
Value moveaxis(Value x, const Integers& source, const Integers& destination);
/// The elements of x at `indices` along `axis`; the other axes of both broadcast. Without an axis, both are flattened
/// first. A negative index counts from the end; one out of range gives NaN (0 for integers).
Value take_along_axis(Value x, Value indices, std::optional<std::ptrdiff_t> axis = {});
/// A grid of points: for each of n rows, its numbers along one axis of n. Indexing "xy" exchanges the first two axes.
/// Throws Error(value) for another indexing.
std::vector<Value> meshgrid(const std::vector<Value>& x, std::string_view indexing = "xy");
/// x with zeros above the diagonal `k` of its last two axes.
Value tril(Value x, std::int64_t k = 0);
/// x with zeros below the diagonal `k` of its last two axes.
Value triu(Value x, std::int64_t k = 0);

/// Zeros of x's shape, and of its dtype or another.
Value zeros_like(Value x, std::optional<DType> dtype = {});
/// Ones of x's shape, and of its dtype or another.
Value ones_like(Value x, std::optional<DType> dtype = {});
/// Within a trace: the numbers start, start + step, .. before `stop`. Throws Error(value) for a step of 0.
Value arange(double start, double stop, double step = 1, DType dtype = floatx());
/// Within a trace: `num` numbers at equal distances, from `start` to `stop` or before it.
Value linspace(double start, double stop, std::int64_t num = 50, bool endpoint = true, DType dtype = floatx());
/// Within a trace: [rows, columns] with ones on the diagonal `k`, and zeros.
Value eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t k = 0, DType dtype = floatx());

}  // namespace etude::ops
