#include "etude/layers/layer.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "etude/base/detail/utf8.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/layers/shape_trace.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude {
namespace {

/// Whether y still has the axes of a mask and more: [batch, steps, ..].
bool masks(const Value& mask, const Value& y) {
  const std::size_t rank = mask ? mask.shape().rank() : 0;
  return mask && rank < y.shape().rank() && y.shape().slice(0, rank) == mask.shape();
}

/// The losses added by `layer`, by layers inside it, or during its call. Losses without a layer belong to all.
class LossesOf {
 public:
  explicit LossesOf(const Layer& layer) : layer_(&layer), layers_{&layer} {
    for (const LayerPtr& inner : layer.layers_inside()) layers_.insert(inner.get());
  }
  bool operator()(const Graph::AddedLoss& loss) const { return loss.entry == layer_ || layers_.contains(loss.layer); }

 private:
  const void* layer_;
  std::unordered_set<const void*> layers_;  // this layer, and those inside it
};

/// A call of a layer during its lifetime. The outermost call drops the losses of earlier calls. Source:
/// Layer._get_call_context in keras/src/layers/layer.py.
class TracedCall {
 public:
  explicit TracedCall(const Layer& layer) : graph_(Graph::current()), outermost_(!graph_.entry()) {
    if (!outermost_) return;
    if (!graph_.added_losses().empty()) std::erase_if(graph_.added_losses(), LossesOf(layer));
    graph_.set_entry(&layer);
  }
  ~TracedCall() {
    if (outermost_) graph_.set_entry(nullptr);
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

 private:
  Graph& graph_;
  bool outermost_;
};

std::mutex names_mutex;
std::map<std::string, int, std::less<>> names_given;

constexpr int nesting_limit = 100;

/// A running call of a layer; the calls of other layers within it are nested.
class Call {
 public:
  explicit Call(std::string_view where) {
    check(depth <= nesting_limit, ErrorKind::value, where, "called within ", depth, " other layers - expected at most ",
          nesting_limit, " - nest models less deeply, and none in itself.");
    ++depth;
  }
  ~Call() { --depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static thread_local int depth;
};
thread_local int Call::depth = 0;

}  // namespace

std::string unique_name(std::string_view class_name) {
  const std::string name = snake_case(class_name);
  const std::lock_guard lock(names_mutex);
  const int number = names_given[name]++;
  return number ? name + '_' + std::to_string(number) : name;
}

void reset_names() {
  const std::lock_guard lock(names_mutex);
  names_given.clear();
}

Layer::Layer(std::string_view class_name, const LayerOptions& options)
    : class_name_(class_name),
      name_(options.name.empty() ? unique_name(class_name) : options.name),
      policy_(options.dtype.empty() ? etude::dtype_policy() : DTypePolicy::from_name(options.dtype, where())),
      trainable_(options.trainable) {
  check(is_utf8(name_), ErrorKind::value, class_name_,
        "a name that is not UTF-8 - expected whole characters - use another name.");
}

Layer::~Layer() {
  if (Building::noted)
    for (Building::Before& before : *Building::noted)
      if (before.layer == this) before.layer = nullptr;
}

std::string Layer::where() const { return class_name_ + " \"" + name_ + '"'; }

std::vector<Value> Layer::accept(const std::vector<Value>& given) {
  check(!given.empty() && given.front(), ErrorKind::value, where(),
        "called without an input - expected an input - pass one.");
  std::vector<Value> inputs = given;
  std::vector<Shape> shapes;
  for (Value& x : inputs) {
    if (!x) continue;
    const DType dtype = keeps_input_dtype_ ? variable_dtype() : compute_dtype();
    if ((is_floating(x.dtype()) && !is_operation_) || casts_integers_) x = ops::cast(x, dtype).with_mask(x.mask());
    shapes.push_back(x.shape());
  }
  build_once(shapes);
  return inputs;
}

void Layer::build_once(const std::vector<Shape>& input_shapes) {
  if (built_) return;
  Building building;
  Building::noted->push_back({this, weights_.size(), states_.size(), regularized_.size()});
  build_for(input_shapes);
  built_ = true;
  building.keep();
}

thread_local std::vector<Layer::Building::Before>* Layer::Building::noted = nullptr;

Layer::Building::Building() : outermost_(!noted) {
  if (outermost_) noted = &all_;
  first_ = noted->size();
}

Layer::Building::~Building() {
  for (; !kept_ && noted->size() > first_; noted->pop_back()) {
    const Before& before = noted->back();
    if (!before.layer) continue;
    Layer& layer = *before.layer;
    layer.weights_.resize(before.weights);
    layer.states_.resize(before.states);
    layer.regularized_.resize(before.regularized);
    layer.input_shape_ = layer.output_shape_ = std::nullopt;
    layer.built_ = false;
  }
  if (outermost_) noted = nullptr;
}

Value Layer::operator()(Value x, bool training) {
  const Outputs outputs = (*this)(std::vector{x}, training);
  check(outputs.size() == 1, ErrorKind::value, where(), outputs.size(),
        " outputs instead of one - expected a layer of one output - call it on a list: layer({x}).");
  return outputs;
}

Outputs Layer::operator()(const std::vector<Value>& given, bool training) {
  const Call call(name_);
  Building building;
  const std::vector<Value> inputs = accept(given);
  const TracedCall traced(*this);
  Graph& graph = Graph::current();
  const std::size_t reads = graph.free_reads();
  const std::uint64_t made = Variable::count();
  Outputs outputs = call_with(inputs, training);
  if (graph.free_reads() > reads) track(graph.take_free_reads(reads), made);
  check(!outputs.empty(), ErrorKind::value, where(), "no output - expected a Value - return a Value from call().");
  const bool again = ShapeTrace::pass() == ShapeTrace::Pass::again;
  if (!input_shape_) input_shape_ = inputs.front().shape();
  if (!again || !output_shape_) output_shape_ = outputs.front().shape();
  if (again) {
    forget_differing(*input_shape_, inputs.front().shape());
    forget_differing(*output_shape_, outputs.front().shape());
  }
  output_keys_ = outputs.names();
  for (Value& y : outputs) {
    if (!y.mask()) y = y.with_mask(mask_of(inputs, y));
    if (activity_regularizer_) regularize_activity(y);
  }
  building.keep();
  return outputs;
}

/// Divides by the rows of the whole batch, so that the strength does not depend on their number.
void Layer::regularize_activity(Value y) const {
  Graph& graph = Graph::current();
  const Value loss = (*activity_regularizer_)(ops::upcast(y));
  const Shape& shape = y.shape();
  const std::int64_t rows = shape.rank() ? graph.shard().whole_size(shape.slice(0, 1)) : 1;
  graph.add_loss(loss / static_cast<double>(std::max<std::int64_t>(rows, 1)), this);
}

/// User variables that call() reads become weights. A variable that is created in each trace cannot: the next trace
/// does not read the trained one. If it is not trainable, it is a constant.
void Layer::track(const std::vector<Variable>& read, std::uint64_t made_before) {
  for (Variable variable : read) {
    const std::vector<Variable> known = variables();
    if (std::ranges::find(known, variable) != known.end()) continue;
    if (variable.serial() < made_before) {
      if (!is_floating(variable.dtype())) variable.set_trainable(false);
      weights_.push_back(variable);
    } else if (variable.trainable() && !std::exchange(warned_, true)) {
      print_warning(
          {}, '[' + where() + "] the variable \"" + variable.name() +
                  "\" is created within call - it is neither trained nor saved, because each trace creates another "
                  "one - create it before, and read it in call.");
    }
  }
}

bool Layer::supports_masking() const {
  if (supports_masking_ || description().empty()) return supports_masking_.value_or(false);
  return class_table<Layer>().find(description().class_name()) == &description().entry();
}

Value Layer::mask_of(const std::vector<Value>& inputs, Value y) const {
  const Value mask = inputs.front().mask();
  if (supports_masking()) return masks(mask, y) ? mask : Value{};
  // The layers of a model have their own masks.
  if (mask && layers().empty() && !std::exchange(mask_warned_, true))
    print_warning({}, '[' + where() +
                          spelled("] an input with a mask, which this layer does not support - later layers and the "
                                  "loss do not see the mask - set supports_masking if the result may have it."));
  return {};
}

Outputs Layer::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1, ErrorKind::value, where(), "called on ", inputs.size(),
        " inputs - expected one input - pass it without a list.");
  return call(inputs.front(), training);
}

std::vector<LayerPtr> Layer::inside(bool trained, int depth) const {
  std::vector<LayerPtr> result;
  std::unordered_set<const Layer*> seen{this};
  std::vector<std::pair<LayerPtr, int>> waiting;  // the last element is the next
  const auto enter = [&](const Layer& layer, int at) {
    if (trained && !layer.trainable_) return;
    const std::vector<LayerPtr> inner = layer.layers();
    check(inner.empty() || at <= nesting_limit, ErrorKind::value, where(), "layers nested more than ", nesting_limit,
          " deep - expected at most that - nest models less deeply.");
    for (auto each = inner.rbegin(); each != inner.rend(); ++each) waiting.emplace_back(*each, at + 1);
  };
  enter(*this, depth);
  while (!waiting.empty()) {
    const auto [layer, at] = std::move(waiting.back());
    waiting.pop_back();
    if ((trained && !layer->trainable_) || !seen.insert(layer.get()).second) continue;
    result.push_back(layer);
    enter(*layer, at);
  }
  return result;
}

void Layer::check_can_hold(const Layer& inner) const {
  bool holds_this = &inner == this;
  for (const LayerPtr& layer : inner.inside(false, 2)) holds_this |= layer.get() == this;
  check(
      !holds_this, ErrorKind::value, where(), "a layer, \"", inner.name(),
      "\", which is or contains this model - expected models that are not nested in themselves - create another one.");
}

void Layer::set_trainable(bool trainable) {
  set_own_trainable(trainable);
  for (const LayerPtr& layer : layers_inside()) layer->set_own_trainable(trainable);
}

void Layer::set_activity_regularizer(const Choice<Regularizer>& regularizer) {
  activity_regularizer_ = regularizers::get(regularizer);
}

void Layer::add_loss(Value loss) { Graph::current().add_loss(ops::replica_part(ops::sum(ops::upcast(loss))), this); }

std::vector<Value> Layer::added_losses() const {
  std::vector<Value> losses;
  if (Graph::current().added_losses().empty()) return losses;
  const LossesOf own(*this);
  for (const Graph::AddedLoss& loss : Graph::current().added_losses())
    if (!loss.layer || own(loss)) losses.push_back(loss.value);
  return losses;
}

}  // namespace etude
