#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#ifdef ETUDE_THREADS
#include <thread>
#endif

#include "etude/etude.hpp"
#include "etude/ops/detail/scan.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "random_step.hpp"

// On targets without threads, every number of threads is one: the same tests apply.
using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;
using Tensors = std::vector<Tensor>;

/// The number of threads that gives other bits than one thread; empty if there is none.
std::string other_bits(const std::function<Tensors()>& compute) {
  const auto on = [&](int count) {
    const Threads threads(count);
    return compute();
  };
  const Tensors alone = on(1);
  for (const int count : {2, 3, 8})
    if (!std::ranges::equal(on(count), alone, same_bits)) return std::to_string(count) + " threads";
  return {};
}

/// The same for a function of random tensors of these shapes.
std::string other_bits(const std::vector<Shape>& shapes, const Function& function, DType dtype = DType::float32) {
  Random random = draws(21);
  Tensors inputs;
  for (const Shape& shape : shapes) inputs.push_back(random_tensor(random, shape, dtype));
  return other_bits([&] { return Tensors{run_on(default_device(), inputs, function)}; });
}

/// The results of a short training: weights, and the losses of its epochs.
Tensors trained() {
  set_random_seed(3);
  Random random = draws(4);
  const Tensor x = random_tensor(random, {250, 300}, DType::float32),
               y = random_tensor(random, {250}, DType::int32, 0, 10);
  Sequential model({layers::dense({.units = 200, .activation = "relu"}), layers::dropout(0.3),
                    layers::dense({.units = 10, .activation = "softmax"})});
  model.compile({.optimizer = "rmsprop", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const auto history = model.fit(x, y, {.batch_size = 100, .epochs = 2, .verbose = 0});
  Tensors result = model.get_weights();
  result.push_back(model.predict(x, {.verbose = 0}));
  for (const auto& [name, numbers] : history->history())
    for (const double number : numbers) result.push_back(Tensor::from({}, {number}));
  return result;
}

/// The results of two batches of a random step.
Tensors stepped(std::uint64_t seed, int ops) {
  RandomStep step(seed, ops);
  const std::vector<Variable> variables = step.variables();
  Tensors batch = step.batch(), result;
  Compiled compiled(batch, [&](Graph& graph, Values inputs) { return step.trace(graph, inputs, variables); });
  for (int i = 0; i < 2; ++i, batch = step.batch()) {
    compiled.run(batch);
    for (std::size_t j = 0; j < compiled.plan().result_count(); ++j) result.push_back(compiled.plan().result(j));
  }
  for (const Variable& variable : variables) result.push_back(variable.value());
  return result;
}

}  // namespace

TEST_CASE("training with dropout and RMSprop gives the same bits for any number of threads", "[threads]") {
  CHECK(other_bits(trained) == "");
}

TEST_CASE("reductions have the same bits for any number of threads", "[threads]") {
  struct Reduction {
    Shape shape;
    std::vector<std::ptrdiff_t> axes;
  };
  for (const auto& [shape, axes] : std::vector<Reduction>{{{1000003}, {}},
                                                          {{300, 4001}, {0}},
                                                          {{300, 4001}, {1}},
                                                          {{4001, 30}, {0}},
                                                          {{7, 301, 403}, {1}},
                                                          {{7, 301, 403}, {0, 2}}})
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(shape << ' ' << dtype);
      CHECK(other_bits({shape}, [&](Values x) { return ops::sum(x[0], axes); }, dtype) == "");
      CHECK(other_bits({shape}, [&](Values x) { return ops::max(x[0], axes); }, dtype) == "");
      CHECK(other_bits({shape}, [&](Values x) { return ops::mean(ops::square(x[0]), axes); }, dtype) == "");
    }
}

TEST_CASE("products of all transposes have the same bits for any number of threads", "[threads]") {
  struct Product {
    std::int64_t m, k, n;
  };
  for (const auto& [m, k, n] : std::vector<Product>{{301, 157, 403}, {1, 700, 900}, {900, 700, 1}, {64, 1000, 10}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        INFO(m << " x " << k << " x " << n << (ta ? " At" : " A") << (tb ? " Bt" : " B"));
        const std::vector<Shape> shapes{ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}, {n}};
        CHECK(other_bits(shapes, [&](Values x) { return ops::matmul(x[0], x[1], ta, tb); }) == "");
        CHECK(other_bits(shapes, [&](Values x) { return ops::relu(ops::matmul(x[0], x[1], ta, tb) + x[2]); }) == "");
      }
}

TEST_CASE("rows, draws and elementwise programs have the same bits for any number of threads", "[threads]") {
  const std::vector<Function> functions{
      [](Values x) { return ops::softmax(x[0]); },
      [](Values x) { return ops::softmax_crossentropy(x[0], ops::softmax(-x[0])); },
      [](Values x) { return ops::sparse_softmax_crossentropy(x[0], ops::argmax(x[0])); },
      [](Values x) { return ops::tanh(x[0]) * ops::sigmoid(x[0] * 3) + ops::exp(-ops::square(x[0])); },
      [](Values x) { return ops::transpose(x[0]) * 2; },
      [](Values x) { return x[0] - ops::mean(x[0], {1}, true); },
      [](Values x) { return ops::dropout(x[0], 0.3, 1, 2, Graph::current().constant(3, DType::int32)); },
      [](Values x) { return gradients(ops::sum(ops::log_softmax(x[0]) * ops::sin(x[0])), x)[0]; },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    INFO("function " << i);
    CHECK(other_bits({{1001, 303}}, functions[i]) == "");
    CHECK(other_bits({{3, 70001}}, functions[i]) == "");
  }
}

TEST_CASE("random steps have the same bits for any number of threads", "[threads]") {
  for (std::uint64_t seed = 5000; seed < 5060; ++seed) {
    INFO("seed " << seed);
    CHECK(other_bits([=] { return stepped(seed, 30); }) == "");
  }
}

TEST_CASE("a plan runs with another number of threads than at its compilation, in the same memory", "[threads]") {
  Random random = draws(22);
  const Tensors inputs{random_tensor(random, {301, 257}, DType::float32),
                       random_tensor(random, {257, 403}, DType::float32)};
  const auto step = [](Graph&, Values x) { return Compiled::Outcome{{ops::tanh(ops::matmul(x[0], x[1]))}, {}}; };
  Tensor first;
  for (const int made_with : {1, 2, 8})
    for (const int runs_with : {1, 2, 3, 8}) {
      INFO("made with " << made_with << ", runs with " << runs_with);
      std::unique_ptr<Compiled> compiled;
      {
        const Threads threads(made_with);
        compiled = std::make_unique<Compiled>(inputs, step);
      }
      constexpr std::size_t fence = 1 << 22;
      compiled->arena().reserve(compiled->plan().arena_bytes() + fence);
      std::byte* behind = compiled->arena().address() + compiled->plan().arena_bytes();
      std::memset(behind, 0x5A, fence);
      const Threads threads(runs_with);
      compiled->run(inputs);
      CHECK(std::all_of(behind, behind + fence, [](std::byte b) { return b == std::byte{0x5A}; }));
      if (!first) first = compiled->plan().result(0);
      CHECK(same_bits(compiled->plan().result(0), first));
    }
}

TEST_CASE("a pool processes each part once", "[threads]") {
  for (const int count : {1, 2, 3, 8}) {
    ThreadPool pool(count);
    for (const int parts : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(parts));
      pool.run(parts, [](void* context, int part) { ++static_cast<std::atomic<int>*>(context)[part]; }, done.data());
      CHECK(std::ranges::all_of(done, [](const std::atomic<int>& times) { return times == 1; }));
    }
  }
}

#ifdef ETUDE_THREADS
TEST_CASE("plans that run on several threads at once do not disturb each other", "[threads]") {
  const Threads threads(3);
  constexpr std::size_t users = 6;
  // One instruction large enough for the pool, and many small ones.
  const auto compute = [](std::size_t user) {
    Random random = draws(30 + user);
    const Tensors inputs{random_tensor(random, {200, 300}, DType::float32),
                         random_tensor(random, {300, 250}, DType::float32)};
    Tensors results = stepped(6000 + user, 25);
    Compiled compiled(inputs, [](Graph&, Values x) {
      const Value y = ops::softmax(ops::relu(ops::matmul(x[0], x[1])));
      return Compiled::Outcome{{y, gradients(ops::sum(ops::square(y)), x)[0], ops::sum(x[1], {0})}, {}};
    });
    for (int i = 0; i < 30; ++i) compiled.run(inputs);
    for (std::size_t i = 0; i < 3; ++i) results.push_back(compiled.plan().result(i));
    return results;
  };
  std::vector<Tensors> alone(users), together(users);
  for (std::size_t user = 0; user < users; ++user) alone[user] = compute(user);
  std::vector<std::thread> running;
  for (std::size_t user = 0; user < users; ++user) running.emplace_back([&, user] { together[user] = compute(user); });
  for (std::thread& thread : running) thread.join();
  for (std::size_t user = 0; user < users; ++user) {
    INFO("user " << user);
    CHECK(std::ranges::equal(together[user], alone[user], same_bits));
  }
}

TEST_CASE("work continues with the same bits while other processes use all cores", "[threads]") {
  const Tensors alone = [] {
    const Threads threads(1);
    return trained();
  }();
  std::atomic<bool> enough{false};
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([&] {
      while (!enough) continue;
    });
  {
    const Threads threads(4);
    CHECK(std::ranges::equal(trained(), alone, same_bits));
  }
  enough = true;
  for (std::thread& other : others) other.join();
}

TEST_CASE("pools can be destroyed while their threads start", "[threads]") {
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(4);
    pool.run(8, [](void* context, int) { ++*static_cast<std::atomic<int>*>(context); }, &done);
  }
  CHECK(done == 800);
}

TEST_CASE("if the pool is busy, the caller processes its parts itself", "[threads]") {
  struct Work {
    ThreadPool pool{3};
    std::atomic<int> done{0};
  } work;
  const auto inner = [](void* context, int) { ++static_cast<Work*>(context)->done; };
  const auto outer = [](void* context, int) {
    Work& all = *static_cast<Work*>(context);
    for (int i = 0; i < 50; ++i) all.pool.run(10, [](void* c, int) { ++static_cast<Work*>(c)->done; }, &all);
  };
  work.pool.run(5, outer, &work);  // from within a part
  CHECK(work.done == 5 * 50 * 10);
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&] {
      for (int j = 0; j < 500; ++j) work.pool.run(7, inner, &work);
    });
  for (std::thread& user : users) user.join();
  CHECK(work.done == 5 * 50 * 10 + 4 * 500 * 7);
}
#endif

namespace {

using Step = std::function<Value(Value h, Value x, Value weights)>;

/// A loop over 9 steps whose state h, [67, 20], becomes step(h, x, weights [20, 20]), and its gradients.
Function looped(const Step& step) {
  return [=](Values given) {
    const auto body = [&](Values h, Values x) { return ops::ScanStep{{step(h[0], x[0], given[2])}, {}}; };
    const Value last = ops::scan(body, {given[0]}, {given[1]}).carry[0];
    const std::vector<Value> d = gradients(ops::sum(ops::square(last)), given);
    std::vector<Value> all{last, d[0], ops::reshape(d[1], {9 * 67, 20})};
    if (d[2]) all.push_back(d[2]);
    return ops::concatenate(all, 0);
  };
}

/// The number of independent rows of its first loop.
std::int64_t rows_of_loop(const Function& function, const Tensors& inputs) {
  Compiled compiled(inputs, [&](Graph&, Values x) { return Compiled::Outcome{{function(x)}, {}}; });
  for (const Instruction& instruction : compiled.plan().instructions())
    if (const auto* scan = std::get_if<instruction::Scan>(&instruction)) return scan->rows;
  return -1;
}

}  // namespace

TEST_CASE("independent rows run through a loop in chunks, with the same bits", "[threads]") {
  struct Loop {
    const char* what;
    Step step;
    bool by_rows;
  };
  const std::vector<Loop> loops{
      {"recurrent product", [](Value h, Value x, Value u) { return ops::tanh(x + ops::matmul(h, u)); }, true},
      {"the mean of a row", [](Value h, Value x, Value) { return ops::tanh(x + h - ops::mean(h, {1}, true)); }, true},
      {"the mean of all rows", [](Value h, Value x, Value) { return ops::tanh(x + h - ops::mean(h, {0}, true)); },
       false},
      {"rows in another order", [](Value h, Value x, Value) { return ops::tanh(x + ops::reverse(h, 0)); }, false},
      {"a product of rows with each other",
       [](Value h, Value x, Value) { return ops::tanh(x + ops::matmul(ops::matmul(h, h, false, true), h)); }, false},
  };
  Random random = draws(5);
  Tensors inputs;
  for (const Shape& shape : {Shape{67, 20}, Shape{9, 67, 20}, Shape{20, 20}})
    inputs.push_back(random_tensor(random, shape, DType::float32));
  for (const auto& [what, step, by_rows] : loops) {
    INFO(what);
    CHECK(rows_of_loop(looped(step), inputs) == (by_rows ? 67 : 0));
    CHECK(other_bits([&] { return Tensors{run_on(default_device(), inputs, looped(step))}; }) == "");
  }
}
