#include "etude/saving/hdf5/detail/hdf5_types.hpp"

#include <array>

namespace etude::hdf5 {
namespace {

struct NumberEntry {
  std::string_view name;
  std::uint8_t size;
  DType dtype;
};
constexpr std::array<NumberEntry, 13> entries{{{"int8", 1, DType::int32},
                                               {"int16", 2, DType::int32},
                                               {"int32", 4, DType::int32},
                                               {"int64", 8, DType::int32},
                                               {"uint8", 1, DType::uint8},
                                               {"uint16", 2, DType::int32},
                                               {"uint32", 4, DType::int32},
                                               {"uint64", 8, DType::int32},
                                               {"float16", 2, DType::float16},
                                               {"float32", 4, DType::float32},
                                               {"float64", 8, DType::float64},
                                               {"bfloat16", 2, DType::bfloat16},
                                               {"bool", 1, DType::boolean}}};

const NumberEntry& entry_of(Number number) { return entries[static_cast<std::size_t>(number)]; }

}  // namespace

std::size_t size_of(Number number) { return entry_of(number).size; }
std::string_view name_of(Number number) { return entry_of(number).name; }
DType dtype_of_number(Number number) { return entry_of(number).dtype; }

Number number_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return Number::float32;
    case DType::float64: return Number::float64;
    case DType::int32: return Number::int32;
    case DType::uint8: return Number::uint8;
    case DType::boolean: return Number::boolean;
    case DType::float16: return Number::float16;
    case DType::bfloat16: return Number::bfloat16;
  }
  return Number::float32;
}

}  // namespace etude::hdf5
