#include "etude/data/detail/element.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

bool existing(const Tensor& tensor) { return static_cast<bool>(tensor); }

bool same_structure(const Batch& a, const Batch& b) {
  return a.x.size() == b.x.size() && a.y.size() == b.y.size() && a.sample_weight.size() == b.sample_weight.size() &&
         std::ranges::equal(a.mask, b.mask, {}, existing, existing) && names_of(a) == names_of(b);
}

std::vector<Tensor> stacked(std::span<const Batch> elements, std::vector<Tensor> Batch::* member) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < (elements.front().*member).size(); ++i) {
    const Tensor& first = (elements.front().*member)[i];
    if (!first) {
      result.emplace_back();
      continue;
    }
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
  for (auto* tensors : {&row.x, &row.y, &row.sample_weight, &row.mask})
    for (Tensor& tensor : *tensors) {
      if (!tensor) continue;
      const Tensor one = tensor.rows(index, index + 1);
      tensor = one.reshape(one.shape().without(0));
    }
  return row;
}

Batch stacked(std::span<const Batch> elements) {
  for (const Batch& element : elements)
    check(same_structure(element, elements.front()), ErrorKind::data, "Dataset.batch",
          "elements of different structure - expected as many x, y, sample_weight and mask in each, of the same names "
          "- check the result of map.");
  Batch batch{stacked(elements, &Batch::x), stacked(elements, &Batch::y), stacked(elements, &Batch::sample_weight),
              stacked(elements, &Batch::mask)};
  batch.names = elements.front().names;
  return batch;
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
    result.mask = parts[0].mask;
    result.y = parts[1].x;
    if (parts.size() == 3) result.sample_weight = parts[2].x;
    BatchNames names{names_of(parts[0]).x, names_of(parts[1]).x, {}};
    if (parts.size() == 3) names.sample_weight = names_of(parts[2]).x;
    if (names != BatchNames()) result.names = std::make_shared<const BatchNames>(std::move(names));
    return result;
  }
  BatchNames names;
  const auto collect = [&](const Batch& part, auto member, auto of_names) {
    const std::vector<std::string>& own = names_of(part).*of_names;
    (result.*member).insert((result.*member).end(), (part.*member).begin(), (part.*member).end());
    (names.*of_names).insert((names.*of_names).end(), own.begin(), own.end());
  };
  for (const Batch& part : parts) {
    if (!part.mask.empty()) {
      result.mask.resize(result.x.size());
      result.mask.insert(result.mask.end(), part.mask.begin(), part.mask.end());
    }
    collect(part, &Batch::x, &BatchNames::x);
    collect(part, &Batch::y, &BatchNames::y);
    collect(part, &Batch::sample_weight, &BatchNames::sample_weight);
  }
  if (!result.mask.empty()) result.mask.resize(result.x.size());
  if (names == BatchNames()) return result;
  for (const auto& [all, tensors] : {std::pair(&names.x, &result.x), std::pair(&names.y, &result.y),
                                     std::pair(&names.sample_weight, &result.sample_weight)}) {
    const std::set<std::string_view> different(all->begin(), all->end());
    check(all->empty() || (all->size() == tensors->size() && different.size() == all->size()), ErrorKind::data,
          "Dataset.zip", tensors->size(), " arrays by ", different.size(),
          " names - expected a different name for each array - rename them by map.");
  }
  result.names = std::make_shared<const BatchNames>(std::move(names));
  return result;
}

}  // namespace etude
