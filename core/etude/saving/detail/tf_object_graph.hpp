#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// The objects of a checkpoint of TensorFlow, and the names by which they refer to each other. Source:
/// tensorflow/core/protobuf/trackable_object_graph.proto.
class TfObjectGraph {
 public:
  /// An object that another one has under a name.
  struct Child {
    std::string_view name;
    std::uint32_t object;
  };
  /// A slot of an optimizer of tf.keras, and its variable: both are objects.
  struct Slot {
    std::uint32_t variable, value;
    std::string_view name;
  };
  /// An object. Those that are variables have a value under `key`; others have none.
  struct Object {
    std::vector<Child> children;
    std::vector<Slot> slots;
    std::string_view key;
    /// Whether it, or an object that it refers to, has a value.
    bool has_values = false;
  };

  /// Reads a message. `where` is the prefix of errors. Throws Error(data).
  TfObjectGraph(std::string message, std::string_view where);
  // Objects have parts of the message.
  TfObjectGraph(const TfObjectGraph&) = delete;
  TfObjectGraph& operator=(const TfObjectGraph&) = delete;

  const Object& object(std::uint32_t number) const { return objects_[number]; }
  /// The object that `of` has under a name, with or without an underscore in front.
  std::optional<std::uint32_t> child(std::uint32_t of, std::string_view name) const;
  /// The model: what tf.keras saved, or what a tf.train.Checkpoint holds as its model.
  std::uint32_t model() const;
  /// The layers of a model that have weights, in order: those that tf.keras counts; those of a list; or else those that
  /// it refers to, also in lists.
  std::vector<std::uint32_t> layers_of(std::uint32_t model) const;
  /// The optimizer of the model, or of the Checkpoint that holds the model.
  std::optional<std::uint32_t> optimizer() const;
  /// The objects with values in a list.
  std::vector<std::uint32_t> list(std::uint32_t number) const { return counted(number, ""); }

 private:
  void find_values();
  std::vector<std::uint32_t> counted(std::uint32_t of, std::string_view prefix) const;
  bool is_list(const Object& object) const;

  const std::string message_;
  std::vector<Object> objects_;
};

}  // namespace etude
