#pragma once

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "etude/base/tensor.hpp"
#include "etude/callbacks/early_stopping.hpp"
#include "etude/layers/layer.hpp"
#include "etude/optimizers/optimizer.hpp"

/// Cases of tests/golden/conformance/*.json, in the format of tests/golden/README.md.
namespace etude::conformance {

/// A feature that a case needs and that Étude, or the reader of cases, lacks: a class, an option, a form of data.
struct Missing : std::runtime_error {
  explicit Missing(const std::string& what) : std::runtime_error(what) {}
};

using nlohmann::json;

/// Limits of a case, so that an unknown case cannot use all memory.
constexpr std::int64_t most_rows = 1'000'000;

/// The array of that name; throws Missing if it is not an array.
const json& list_in(const json& object, const char* name);
/// Throws Missing unless the object has all names of `needed`, and otherwise only those of `optional`.
void check_names(const json& object, std::initializer_list<std::string_view> needed,
                 std::initializer_list<std::string_view> optional);
/// Extents; throws Missing for invalid or too large ones.
Shape shape_in(const json& extents);
/// The entry of `got` with the name of an expectation; throws Missing if there is none.
const json& known(const std::map<std::string, json>& got, const std::string& name);

/// A value of a case: nested lists, a number, or a formula (fill, arange), in floatx unless it is boolean.
Tensor tensor_of(const json& value);
/// A number, which may be written "inf", "-inf" or "nan".
double number_of(const json& value);

/// Empty if `got` matches `expect`: its `value` within its `atol` and `rtol`, at its `index`; else the difference.
std::string difference_from(const json& expect, Tensor got);

/// The object of a class and config, by the library's own table.
template <class T> std::shared_ptr<T> make(const json& class_name, const json& config);
/// `warn` receives its warnings.
std::shared_ptr<EarlyStopping> make_early_stopping(const json& config, TextSink warn = {});

/// Empty if both are equal; else the difference.
std::string expect_equal(const char* what, const json& got, const json& want);

// Each runs one case of its family and returns the error; empty: success.
std::string run_loss(const json&);
std::string run_metric(const json&);
std::string run_activation(const json&);
std::string run_layer(const json&);
std::string run_layer_shape(const json&);
std::string run_optimizer(const json&);
std::string run_optimizer_clip(const json&);
std::string run_optimizer_loss_scale(const json&);
std::string run_schedule(const json&);
std::string run_initializer(const json&);
std::string run_regularizer(const json&);
std::string run_constraint(const json&);
std::string run_fit(const json&);
std::string run_train_on_batch(const json&);
std::string run_evaluate(const json&);
std::string run_loop(const json&);
std::string run_callback(const json&);
/// The targets of that family that name a callback.
std::string run_named_callback(const json&);
std::string run_data(const json&);

}  // namespace etude::conformance
