#pragma once

#include <cstdint>
#include <string_view>

#include "etude/graph/graph.hpp"

/// Functions that layers of categories share. `where` names the layer in errors.
namespace etude::categories {

/// The form of category numbers in the result: the numbers; a row of 0 and 1 for each number, or one for each sample;
/// or a row of counts for each sample.
enum class OutputMode : std::uint8_t { integer, one_hot, multi_hot, count };
/// Throws Error(value) for an unknown name, and for "int" if it is not allowed.
OutputMode output_mode_of(std::string_view name, bool allows_int, std::string_view where);
/// Throws Error(value) for sparse outputs, which Étude does not have.
void check_dense(bool sparse, std::string_view where);

/// int32 category numbers, encoded. Axis 1 has the categories of a sample; without it all are of one sample. `weights`
/// are those of the counts, or empty. Source: encode_categorical_inputs in keras/src/utils/numerical_utils.py.
Value encoded(Value numbers, std::int64_t depth, OutputMode mode, DType dtype, Value weights = {});

/// The number of entries of `sorted` [n] that are at most x, for each element of x: int32. NaN is after all entries.
Value count_up_to(Value sorted, Value x);

}  // namespace etude::categories
