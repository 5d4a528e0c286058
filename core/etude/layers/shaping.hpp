#pragma once

#include <cstdint>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct FlattenOptions {
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = FlattenOptions> static constexpr auto fields() {
    return option_rows(option<&O::data_format>(
                           "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
                       layer_fields<O>());
  }
};

/// [batch, ..] -> [batch, product of the rest]; [batch] -> [batch, 1]. "channels_first" data is first transposed to the
/// order of "channels_last" (A-18). Throws Error(value) for another data_format. Source:
/// keras/src/layers/reshaping/flatten.py.
class Flatten : public Layer {
 public:
  using Options = FlattenOptions;
  static constexpr ClassText about{"Flatten", "Flattens all axes but the batch: [batch, ..] -> [batch, size]."};
  explicit Flatten(FlattenOptions options = {});
  Value call(Value x, bool training) override;

 private:
  bool channels_first_;
};

struct ReshapeOptions {
  std::vector<std::int64_t> target_shape = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ReshapeOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::target_shape>("Extents of the result without the batch axis; one may be -1, what is left.",
                                 Need::required),
        layer_fields<O>());
  }
};

/// [batch, ..] -> [batch, *target_shape]. Throws Error(value) for extents below 0 other than one -1, Error(shape) for
/// inputs of another size. Source: keras/src/layers/reshaping/reshape.py.
class Reshape : public Layer {
 public:
  using Options = ReshapeOptions;
  static constexpr ClassText about{.name = "Reshape",
                                   .text = "Reshapes each sample: [batch, ..] -> [batch, *target_shape].",
                                   .example = R"({"target_shape": [-1]})"};
  explicit Reshape(const ReshapeOptions& options);
  explicit Reshape(std::vector<std::int64_t> target_shape)
      : Reshape(ReshapeOptions{.target_shape = std::move(target_shape)}) {}
  Value call(Value x, bool training) override;

 private:
  std::vector<std::int64_t> target_shape_;
};

struct PermuteOptions {
  std::vector<std::int64_t> dims = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = PermuteOptions> static constexpr auto fields() {
    return option_rows(option<&O::dims>("Axes in their new order, from 1: the batch axis stays.", Need::required),
                       layer_fields<O>());
  }
};

/// [batch, ..] with its other axes in the order `dims`, which begins at 1. Throws Error(value) unless dims has each of
/// 1, 2, .. once, Error(shape) for inputs of another rank. Source: keras/src/layers/reshaping/permute.py.
class Permute : public Layer {
 public:
  using Options = PermuteOptions;
  static constexpr ClassText about{
      .name = "Permute",
      .text = "Transposes each sample: [batch, ..] -> [batch, ..] with axes in that order.",
      .example = R"({"dims": [1]})"};
  explicit Permute(const PermuteOptions& options);
  Value call(Value x, bool training) override;

 private:
  std::vector<std::uint8_t> order_;
};

struct RepeatVectorOptions {
  std::int64_t n = 0;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RepeatVectorOptions> static constexpr auto fields() {
    return option_rows(option<&O::n>("Number of steps.", Need::required), layer_fields<O>());
  }
};

/// [batch, features] -> [batch, n, features]. Throws Error(value) for n below 1, Error(shape) for inputs of another
/// rank. Source: keras/src/layers/reshaping/repeat_vector.py.
class RepeatVector : public Layer {
 public:
  using Options = RepeatVectorOptions;
  static constexpr ClassText about{.name = "RepeatVector",
                                   .text = "Repeats each sample in n steps: [batch, features] -> [batch, n, features].",
                                   .example = R"({"n": 2})"};
  explicit RepeatVector(const RepeatVectorOptions& options);
  Value call(Value x, bool training) override;

 private:
  std::int64_t n_;
};

namespace layers {
inline constexpr Factory<Flatten> flatten;
inline constexpr Factory<Permute> permute;
inline constexpr Factory<RepeatVector> repeat_vector;
inline constexpr Factory<Reshape> reshape;
}  // namespace layers

}  // namespace etude
