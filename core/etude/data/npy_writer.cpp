#include "etude/data/npy_writer.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {
namespace {

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return "<f4";
    case DType::float64: return "<f8";
    case DType::int32: return "<i4";
    case DType::uint8: return "|u1";
    case DType::boolean: return "|b1";
    case DType::float16: return "<f2";
    case DType::bfloat16: break;  // NumPy has none
  }
  return {};
}

std::string dictionary(const Shape& shape, DType dtype) {
  std::string text = "{'descr': '" + std::string(descr_of(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    text += (axis ? ", " : "") + std::to_string(shape.begin()[axis]);
  return text + (shape.rank() == 1 ? ",), }" : "), }");
}

}  // namespace

/// Magic number, version, length, dictionary, and spaces up to a multiple of 64 bytes, so that any number of rows fits.
std::string npy_header(const Shape& shape, DType dtype) {
  check(!descr_of(dtype).empty(), ErrorKind::dtype, "npy", "an array of ", name_of(dtype),
        " - expected a dtype of NumPy - cast it to float32.");
  constexpr std::size_t before = 10, alignment = 64;
  Shape longest = shape;
  if (shape.rank() > 0) longest[0] = std::numeric_limits<std::int64_t>::max();
  const std::size_t needed = before + dictionary(longest, dtype).size() + 1;
  const std::size_t length = (needed + alignment - 1) / alignment * alignment - before;
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(length & 0xff);
  text += static_cast<char>(length >> 8);
  text += dictionary(shape, dtype);
  text.resize(before + length - 1, ' ');
  return text + '\n';
}

NpyWriter::NpyWriter(std::string path)
    : files_(vfs_or_host({}, "npy")), path_(std::move(path)), made_(*files_, path_) {}

void NpyWriter::check_unfinished() const {
  check(!whole_, ErrorKind::state, "npy", "\"", path_,
        "\" is already committed - expected no call after commit() - create another NpyWriter.");
}

void NpyWriter::append(const Tensor& rows) {
  check_unfinished();
  const Shape& shape = rows.shape();
  check(shape.rank() > 0, ErrorKind::shape, "npy", "a scalar for \"", path_,
        "\" - expected [rows, ..] - write one row for each sample.");
  if (!begun_) {
    shape_ = shape;
    shape_[0] = 0;
    dtype_ = rows.dtype();
    made_.file().append(npy_header(shape_, dtype_));  // its length stays the same; its number of rows changes
    begun_ = true;
  }
  check(shape.slice(1, shape.rank()) == shape_.slice(1, shape_.rank()) && rows.dtype() == dtype_, ErrorKind::shape,
        "npy", "rows of shape ", shape, " and ", name_of(rows.dtype()), " after ", shape_, " and ", name_of(dtype_),
        " for \"", path_, "\" - expected the same dtype and shape of rows - write them to another file.");
  shape_[0] += shape[0];
  made_.file().append({reinterpret_cast<const char*>(rows.raw()), rows.bytes()});
}

void NpyWriter::commit() {
  check_unfinished();
  check(begun_, ErrorKind::data, "npy", "no rows for \"", path_,
        "\" - expected at least one append() - check the data.");
  whole_ = true;
  made_.file().overwrite(0, npy_header(shape_, dtype_));
  made_.commit();
}

}  // namespace etude
