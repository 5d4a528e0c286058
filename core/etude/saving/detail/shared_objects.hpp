#pragma once

/// Private to core/saving: objects that several places of a config share.
#include <cstdint>
#include <memory>
#include <optional>

#include "etude/saving/detail/json.hpp"

namespace etude {

class ClassTable;
class Layer;

/// During the lifetime of the outermost one on a thread, configs of one kind with the same "shared_object_id" are one
/// object, as in the files of Keras.
class SharedObjects {
 public:
  SharedObjects();
  ~SharedObjects();
  SharedObjects(const SharedObjects&) = delete;
  SharedObjects& operator=(const SharedObjects&) = delete;

  /// The object of such a config; null before it was added.
  std::shared_ptr<void> find(const ClassTable& kind, const Json& json) const;
  void add(const ClassTable& kind, const Json& json, std::shared_ptr<void> object) const;
};

/// During the lifetime of the outermost one on a thread, whose model is written, layers that stand at several places of
/// it have a "shared_object_id".
class SharedLayers {
 public:
  explicit SharedLayers(const Layer& model);
  ~SharedLayers();
  SharedLayers(const SharedLayers&) = delete;
  SharedLayers& operator=(const SharedLayers&) = delete;

  /// None if the layer stands at one place.
  static std::optional<std::int64_t> id_of(const Layer& layer);
};

}  // namespace etude
