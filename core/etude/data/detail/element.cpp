#include "etude/data/detail/element.hpp"

#include <algorithm>
#include <cstring>

#include "etude/base/error.hpp"

namespace etude {
namespace {

bool same_structure(const Batch& a, const Batch& b) {
  return a.x.size() == b.x.size() && a.y.size() == b.y.size() && a.sample_weight.size() == b.sample_weight.size();
}

std::vector<Tensor> stacked(std::span<const Batch> elements, std::vector<Tensor> Batch::* member) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < (elements.front().*member).size(); ++i) {
    const Tensor& first = (elements.front().*member)[i];
    Tensor all(first.shape().with(0, static_cast<std::int64_t>(elements.size())), first.dtype());
    std::byte* out = all.raw();
    for (const Batch& element : elements) {
      const Tensor& part = (element.*member)[i];
      check(part.shape() == first.shape() && part.dtype() == first.dtype(), ErrorKind::data, "Dataset.batch",
            "an element of shape ", part.shape(), " and dtype ", part.dtype(), " after one of ", first.shape(), " and ",
            first.dtype(), " - expected the same of all elements of a batch - map them to one shape first.");
      if (part.bytes()) std::memcpy(out, part.raw(), part.bytes());
      out += part.bytes();
    }
    result.push_back(std::move(all));
  }
  return result;
}

}  // namespace

Batch row_of(const Batch& arrays, std::int64_t index) {
  Batch row = arrays;
  for (auto* tensors : {&row.x, &row.y, &row.sample_weight})
    for (Tensor& tensor : *tensors) {
      const Tensor one = tensor.rows(index, index + 1);
      tensor = one.reshape(one.shape().without(0));
    }
  return row;
}

Batch stacked(std::span<const Batch> elements) {
  for (const Batch& element : elements)
    check(
        same_structure(element, elements.front()), ErrorKind::data, "Dataset.batch",
        "elements of different structure - expected as many x, y and sample_weight in each - check the result of map.");
  return {stacked(elements, &Batch::x), stacked(elements, &Batch::y), stacked(elements, &Batch::sample_weight), {}};
}

Batch joined(std::span<const Batch> parts) {
  const bool inputs_alone =
      std::ranges::all_of(parts, [](const Batch& part) { return part.y.empty() && part.sample_weight.empty(); });
  Batch result;
  if (inputs_alone && parts.size() > 1) {
    check(parts.size() <= 3, ErrorKind::data, "Dataset.zip", parts.size(),
          " datasets - Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)` - zip fewer "
          "datasets.");
    result.x = parts[0].x;
    result.y = parts[1].x;
    if (parts.size() == 3) result.sample_weight = parts[2].x;
    return result;
  }
  for (const Batch& part : parts)
    for (auto member : {&Batch::x, &Batch::y, &Batch::sample_weight})
      (result.*member).insert((result.*member).end(), (part.*member).begin(), (part.*member).end());
  return result;
}

}  // namespace etude
