#pragma once

/// Private to core/saving: objects that several places of a config share.
#include <memory>

#include "etude/saving/detail/json.hpp"

namespace etude {

class ClassTable;

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

}  // namespace etude
