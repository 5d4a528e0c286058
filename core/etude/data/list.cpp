#include "etude/data/list.hpp"

#include <cstring>

#include "etude/base/error.hpp"

namespace etude {

List::List(const std::vector<List>& rows) {
  if (rows.empty()) {
    tensor_ = Tensor(Shape{0}, floatx());
    return;
  }
  DType dtype = DType::int32;
  for (const List& row : rows)
    if (is_floating(row.tensor_.dtype())) dtype = row.tensor_.dtype();
  const Shape& each = rows.front().tensor_.shape();
  tensor_ = Tensor(each.with(0, std::ssize(rows)), dtype);
  std::byte* out = tensor_.raw();
  for (const List& row : rows) {
    check(row.tensor_.shape() == each, ErrorKind::shape, "List", "a row of shape ", row.tensor_.shape(),
          " beside one of ", each, " - expected rows of equal length - pad the shorter ones.");
    const Tensor cast = row.tensor_.astype(dtype);
    if (cast.bytes()) std::memcpy(out, cast.raw(), cast.bytes());
    out += cast.bytes();
  }
}

void List::settle(bool whole) {
  for (std::int64_t i = 0; whole && i < tensor_.size(); ++i) {
    const double number = tensor_.at(i);
    check(number >= -0x1p31 && number < 0x1p31, ErrorKind::data, "List", "the number ",
          static_cast<std::int64_t>(number), " - expected the range of int32 - pass it as a double.");
  }
  tensor_ = tensor_.astype(whole ? DType::int32 : floatx());
}

}  // namespace etude
