#include <iterator>
#include <memory>

#include "etude/activations/activations.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {
namespace activations {
namespace {

/// An activation with the options that it has at first. Its objects are Activation::Functions.
struct Row {
  const char *name, *aliases;
  std::shared_ptr<void> (*make)(void*);
};

std::shared_ptr<void> no_options() { return nullptr; }
std::shared_ptr<void> shared(Value (*function)(Value)) { return std::make_shared<Activation::Function>(function); }

template <Value (*function)(Value)> constexpr Row activation(const char* name, const char* aliases = "") {
  return {name, aliases, [](void*) { return shared(function); }};
}

constexpr Row rows[] = {
    activation<[](Value x) { return x; }>("linear"),
    activation<ops::relu>("relu"),
    activation<[](Value x) { return leaky_relu(x); }>("leaky_relu"),
    activation<relu6>("relu6"),
    activation<[](Value x) { return elu(x); }>("elu"),
    activation<selu>("selu"),
    activation<[](Value x) { return celu(x); }>("celu"),
    activation<[](Value x) { return gelu(x); }>("gelu"),
    activation<silu>("silu", "swish"),
    activation<mish>("mish"),
    activation<ops::softplus>("softplus"),
    activation<softsign>("softsign"),
    activation<[](Value x) { return squareplus(x); }>("squareplus"),
    activation<ops::exp>("exponential"),
    activation<ops::sigmoid>("sigmoid"),
    activation<log_sigmoid>("log_sigmoid"),
    activation<hard_sigmoid>("hard_sigmoid"),
    activation<hard_silu>("hard_silu", "hard_swish"),
    activation<ops::tanh>("tanh"),
    activation<hard_tanh>("hard_tanh"),
    activation<tanh_shrink>("tanh_shrink"),
    activation<[](Value x) { return hard_shrink(x); }>("hard_shrink"),
    activation<[](Value x) { return soft_shrink(x); }>("soft_shrink"),
    activation<[](Value x) { return threshold(x); }>("threshold"),
    activation<ops::softmax>("softmax"),
    activation<ops::log_softmax>("log_softmax"),
    activation<[](Value x) { return sparsemax(x); }>("sparsemax"),
    activation<sparse_plus>("sparse_plus"),
    activation<sparse_sigmoid>("sparse_sigmoid"),
    activation<[](Value x) { return glu(x); }>("glu"),
};

/// Their entries, which are made when they are first needed: rows are a third of the data.
struct Entries {
  ClassEntry all[std::size(rows)];
  const ClassEntry* pointers[std::size(rows)];

  Entries() {
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      all[i] = {rows[i].name, rows[i].name, rows[i].aliases, {}, no_options, rows[i].make};
      pointers[i] = &all[i];
    }
  }
};

}  // namespace
}  // namespace activations

template <> ClassTable& class_table<Activation>() {
  static const activations::Entries entries;
  static ClassTable table("activation", entries.pointers);
  return table;
}

}  // namespace etude
