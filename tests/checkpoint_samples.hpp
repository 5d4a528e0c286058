#pragma once

#include <string>
#include <vector>

#include "etude/saving/checkpoint_store.hpp"
#include "support.hpp"

namespace etude::testing {

/// A small checkpoint whose numbers depend on its step.
inline Checkpoint checkpoint_of(std::int64_t step) {
  Tensor kernel({16, 24}), slots({384}), flags(Shape{3}, DType::boolean);
  for (std::size_t i = 0; i < 384; ++i) {
    kernel.data<float>()[i] = static_cast<float>(step) + static_cast<float>(i) / 1024;
    slots.data<float>()[i] = -static_cast<float>(step);
  }
  flags.data<bool>()[1] = true;
  const Tensor iterations = Tensor::from<std::int32_t>({}, {static_cast<std::int32_t>(step)});
  return {.step = step,
          .tensors = {{"model", {{"dense/kernel", kernel}, {"flags", flags}}},
                      {"optimizer", {{"iterations", iterations}, {"velocity", slots}}}},
          .documents = {{"state", R"({"epoch": )" + std::to_string(step) + "}"}, {"config", R"({"layers": []})"}}};
}

/// Whether it is that checkpoint to the bit.
inline bool is_checkpoint_of(const Checkpoint& loaded, std::int64_t step) {
  const Checkpoint wanted = checkpoint_of(step);
  if (loaded.step != step || loaded.tensors.size() != 2 || loaded.documents.size() != 2) return false;
  for (std::size_t g = 0; g < 2; ++g) {
    const auto &got = loaded.tensors[g], &want = wanted.tensors[g];
    if (got.name != want.name || got.tensors.size() != want.tensors.size()) return false;
    for (std::size_t i = 0; i < got.tensors.size(); ++i)
      if (got.tensors[i].name != want.tensors[i].name || !same_bits(got.tensors[i].tensor, want.tensors[i].tensor))
        return false;
    if (loaded.documents[g].name != wanted.documents[g].name || loaded.documents[g].json != wanted.documents[g].json)
      return false;
  }
  return true;
}

/// Collects the output during its lifetime.
struct Warnings {
  std::vector<std::string> lines;
  TextSink sink() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

/// The repetitions of a campaign, by ETUDE_CAMPAIGN ("long", which ./dev test reliability sets), else of the quick
/// form.
inline int rounds(int quick, int full) {
  const char* wanted = std::getenv("ETUDE_CAMPAIGN");
  return wanted && std::string_view(wanted) == "long" ? full : quick;
}

}  // namespace etude::testing
