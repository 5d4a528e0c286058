#include "symbolic.hpp"

#include <optional>

namespace etude::js {
namespace {

bool is_symbol(const val& value) { return Conversion<SymbolicTensor>::is(value); }
bool is_tensor(const val& value) { return value.instanceof(host("Tensor")); }

/// Whether it is a SymbolicTensor, or a list with one.
bool has_symbol(const val& value) {
  if (!value.isArray()) return is_symbol(value);
  const auto length = value["length"].as<unsigned>();
  for (unsigned i = 0; i < length; ++i)
    if (is_symbol(value[i])) return true;
  return false;
}

/// The operands of an elementwise op; none for other arguments.
std::optional<std::vector<SymbolicOperand>> operands_of(std::span<const val* const> given, const Where& where) {
  std::vector<SymbolicOperand> operands;
  for (const val* each : given) {
    if (is_symbol(*each))
      operands.emplace_back(from_js<SymbolicTensor>(*each, where));
    else if (each->isNumber())
      operands.emplace_back(from_js<double>(*each, where));
    else if (is_tensor(*each))
      operands.emplace_back(from_js<Tensor>(*each, where));
    else
      return {};
  }
  return operands;
}

/// The arguments of a call, with the places of its SymbolicTensors and Tensors.
class Arguments {
 public:
  Arguments(std::span<const val* const> given, const Where& where) {
    const val all = val::array();
    for (const val* each : given) {
      const std::size_t argument = given_.size();
      given_.push_back(*each);
      all.call<void>("push", *each);
      if (!each->isArray()) {
        if (take(*each, argument, -1, where)) given_.back() = val::undefined();
        continue;
      }
      const auto length = (*each)["length"].as<int>();
      given_.back() = each->call<val>("slice");
      for (int i = 0; i < length; ++i)
        if (take((*each)[i], argument, i, where)) given_.back().set(i, val::undefined());
    }
    text_ = call_host("textOfCall", all).as<std::string>();
  }

  Outputs call(Work work, const char* text, const std::vector<Value>& inputs) const {
    const TraceScope scope;
    std::vector<val> now;
    for (const val& each : given_) now.push_back(each.isArray() ? each.call<val>("slice") : each);
    std::size_t next = 0;
    for (const Place& place : places_) {
      const val value = to_js(place.constant ? Graph::current().read(place.constant) : inputs.at(next++));
      if (place.element < 0)
        now[place.argument] = value;
      else
        now[place.argument].set(place.element, value);
    }
    std::vector<const val*> pointers;
    for (const val& each : now) pointers.push_back(&each);
    const Call call(text, nullptr, pointers);
    return from_js<Outputs>(work(call), {call.name(), "the result"});
  }

  /// The call for the description of a model; none if the arguments are not JSON.
  std::optional<OpCall> call_of(std::string_view function) const {
    if (text_.empty()) return {};
    OpCall call{std::string(function), text_, {}};
    for (const Place& place : places_)
      if (place.constant) call.constants.push_back(place.constant);
    return call;
  }

  std::vector<SymbolicTensor> tensors;

 private:
  struct Place {
    std::size_t argument;
    int element;  // of a list, else -1
    Variable constant;
  };
  bool take(const val& value, std::size_t argument, int element, const Where& where) {
    if (is_symbol(value)) {
      tensors.push_back(from_js<SymbolicTensor>(value, where));
      places_.push_back({argument, element, {}});
    } else if (is_tensor(value)) {
      places_.push_back({argument, element, detail::op_constant(from_js<Tensor>(value, where))});
    } else {
      return false;
    }
    return true;
  }

  std::vector<val> given_;
  std::string text_;  // of the call, for the description of a model; empty if the arguments are not JSON
  std::vector<Place> places_;
};

}  // namespace

bool is_symbolic(std::string_view text, std::span<const val* const> given) {
  if (Graph::tracing() || !(text.starts_with("ops.") || text.starts_with("activations."))) return false;
  return std::ranges::any_of(given, [](const val* each) { return has_symbol(*each); });
}

val add_op(Work work, const char* text, std::span<const val* const> given) {
  const std::string_view name = Header::of(text).name();
  const Where where{name, "an operand"};
  set_place(name);
  const std::string_view op = name.substr(name.find('.') + 1);
  if (const ElementwiseOp* known = name.starts_with("ops.") ? elementwise_op(op) : nullptr)
    if (const auto operands = operands_of(given, where)) return to_js(apply_op(*known, *operands));
  const Arguments arguments(given, where);
  const auto function = [arguments, work, text](const std::vector<Value>& inputs) {
    return arguments.call(work, text, inputs);
  };
  const auto outputs =
      apply_all(std::make_shared<Operation>(detail::op_class_name(op), function, std::string(), arguments.call_of(op)),
                arguments.tensors);
  return outputs.size() == 1 ? to_js(outputs.front()) : to_js(outputs);
}

}  // namespace etude::js
