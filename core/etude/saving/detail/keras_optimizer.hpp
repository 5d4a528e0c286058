#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "etude/optimizers/optimizer.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/detail/keras_store.hpp"
#include "etude/saving/detail/keras_weights.hpp"

namespace etude {

/// Whether an optimizer's variables are those of Keras. Custom optimizers have others.
bool has_keras_variables(const Optimizer& optimizer);

/// The groups of such an optimizer in files of Keras 3. The first one, "optimizer/vars", has all variables; the others
/// repeat those of the optimizers inside. `config` is the optimizer's of the file, null for the one that Étude writes:
/// it has the order of the optimizers inside.
std::vector<KerasWeights> keras_optimizer_weights(const Optimizer& optimizer, const Json& config = nullptr);

/// What a whole model in an .h5 file, of Keras 2 or 3, has for an optimizer, which is built: all variables, or in Keras
/// 2 the number of its steps, and its slots kind by kind. Nothing if it has others than the optimizer.
Task<std::optional<std::vector<StoredVariable>>> find_h5_optimizer(hdf5::Reader& file, const Optimizer& optimizer,
                                                                   const Json& config, Reading& reading);

/// The variables of an optimizer, in Keras's order, that the first group of a file with `count` datasets has: all;
/// without the learning rate and the product of Nadam, as Keras 2 stores them; without those of a dynamic loss scale;
/// the first ones, before the first step; or the number of steps alone, of SGD in Keras 2, which has velocities that it
/// does not use. Others if the file has those of another optimizer.
std::vector<Variable> stored_variables(const Optimizer& optimizer, const Json& config, std::size_t count);

/// Whether the last variable of an optimizer is one that Keras 2 does not save, because it follows from the number of
/// steps: the product of beta_1 over all steps of Nadam.
bool ends_with_product(const std::vector<Variable>& variables);
/// Computes that variable, after the others were loaded from a file that lacks it.
void compute_product(const Optimizer& optimizer);

}  // namespace etude
