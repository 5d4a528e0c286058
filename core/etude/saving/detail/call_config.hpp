#pragma once

/// Private to core/saving: the calls of layers in Functional models as JSON, in the forms of Keras 3 and Keras 2.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "etude/layers/recurrent.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {

/// Whether it is a history: [layer, call, output, …].
bool is_history(const Json& json);

/// The recurrent layer whose initial states are the inputs of `layer` after the first one: `layer` itself, or the
/// forward layer of Bidirectional. Null for other layers.
const Recurrent* started_by(const Layer& layer);

/// A call of a layer on these tensors, each in JSON, with the arguments of Keras. A member "etude" says that a
/// recurrent layer uses the mask of its input beside initial states.
Json call_json(const Layer& layer, Json tensors);

/// The histories of the inputs of a call, in the order of Étude's inputs: those of arguments, then those that have
/// names. Throws Error(data) for arguments that are no tensors, unless they have their defaults. A mask that a layer
/// creates, and that Keras passes on from layer to layer, is left out: Étude passes it on, too. Any other one is an
/// argument of the caller.
class CallReader {
 public:
  /// Reads calls of the layers of a Functional model.
  explicit CallReader(const Json& layers);
  /// Of a call of `called`, whose name in the text is `layer`. Inputs by name are those of a model.
  std::vector<const Json*> inputs(const Json& node, const std::string& layer, const Layer& called) const;
  /// Sets whether a recurrent layer uses the mask of its input beside initial states, by its calls. In Keras 3 it does
  /// so only if the mask is an argument. Throws Error(data) for calls of both kinds.
  void set_mask_use(const Json& nodes, const std::string& name, Layer& layer) const;
  /// Whether an op is needed: it is not if only masks depend on it.
  bool needs_op(const std::string& name) const { return needed_.contains(name); }
  /// Finds the ops on which the outputs of a model depend.
  void need(const Json& config);

 private:
  void add_named(const Json& arguments, const std::string& layer, const Layer& called,
                 std::vector<const Json*>& inputs) const;
  bool passes_mask(const Json& mask) const;

  /// A tensor from which a layer creates a mask: true for elements that are not `number`.
  struct Masked {
    const Json* history;
    Json number;
  };
  bool creates_mask(const Json& op, const Json& arguments) const;

  const Json& layers_;
  std::map<std::string, const Json*> ops_;
  std::set<std::string> needed_;
  std::vector<Masked> masked_;
};

}  // namespace etude
