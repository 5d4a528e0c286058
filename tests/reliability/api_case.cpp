#include "reliability/api_case.hpp"

#include <cmath>
#include <limits>
#include <new>

#include "allocation_counter.hpp"
#include "class_lists.hpp"
#include "files_in_memory.hpp"
#include "reliability/random_model.hpp"
#include "support.hpp"
#include "training_samples.hpp"

namespace etude::testing {
namespace {

/// The largest single allocation of a case.
constexpr std::size_t request_limit = std::size_t{8} << 20;

/// The weights of a small model after two steps: always the same bits.
std::vector<double> trained_weights() {
  Sequential model(samples::two_dense());
  model.compile(samples::mse());
  static const Tensor x = samples::waves({8, 3}), y = samples::signs_of(x);
  model.fit(x, y, {.batch_size = 4, .verbose = 0, .shuffle = false});
  return samples::weights_of(model);
}

class Rows : public Sequence {
 public:
  explicit Rows(Batch all) : all_(std::move(all)) {}
  std::int64_t size() const override { return 3; }
  Batch batch(std::int64_t) override { return all_; }

 private:
  Batch all_;
};

class Case {
 public:
  explicit Case(std::uint64_t number) : draw_(number), number_(number) {
    static const std::vector<double> weights = trained_weights();
    expected_ = &weights;
  }

  CaseReport run() {
    const FilesInMemory files;
    static const std::vector<std::string> names = layers_of_models();
    const LimitedAllocations limit(request_limit);
    RandomModel described;
    if (!attempt("make a config", [&] { described = random_model(draw_, names[number_ % names.size()]); }))
      return report_;
    described_ = described;
    if (!attempt("model_from_json", [&] { model_ = model_from_json(described.text); })) return report_;
    x_ = inputs(1 + static_cast<std::int64_t>(draw_.below(9)));
    attempt("predict", [&] { predicted_ = model_->predict_outputs(x_, {.verbose = 0}); });
    compile();
    if (draw_.chance(60)) fit();
    for (std::size_t i = 2 + draw_.below(4); i > 0 && report_.wrong.empty(); --i) act();
    return report_;
  }

 private:
  /// Whether a call succeeded. Only Error and bad_alloc may leave it.
  template <class Call> bool attempt(const char* what, Call&& call) {
    try {
      call();
      ++report_.done;
      return true;
    } catch (const Error& error) {
      const std::string_view text = refusal_ = error.what();
      const bool sound = text.starts_with("[") && error.kind() != ErrorKind::internal;
      if (!sound) wrong(what, std::string("an error that says too little: ") + error.what());
    } catch (const std::bad_alloc&) {
      refusal_ = "no memory";
    } catch (const std::exception& error) {
      wrong(what, std::string("an untyped exception: ") + error.what());
    } catch (...) {
      wrong(what, "an exception of another type");
    }
    ++report_.refused;
    check_another(what);
    return false;
  }
  void wrong(const char* what, const std::string& why) {
    if (report_.wrong.empty()) report_.wrong = std::string(what) + ": " + why + "\n" + described_.text.substr(0, 4000);
  }
  void check_another(const char* what) {
    try {
      if (trained_weights() != *expected_) wrong(what, "another model is trained to other weights afterwards");
    } catch (const std::exception& error) {
      wrong(what, std::string("another model cannot be trained afterwards: ") + error.what());
    }
  }

  Tensor inputs(std::int64_t rows) {
    Shape shape{rows};
    for (const std::int64_t extent : described_.input) shape.append(extent);
    return described_.tokens ? random_tensor(draw_.random(), shape, DType::int32, 0, 7)
                             : random_tensor(draw_.random(), shape, DType::float32);
  }
  /// Arrays of wrong shapes, types and numbers.
  Tensor malformed() {
    switch (draw_.below(6)) {
      case 0: return inputs(0);
      case 1: return Tensor(Shape{3}, draw_.of(std::vector{DType::float32, DType::uint8, DType::boolean}));
      case 2: return Tensor(Shape{});
      case 3: return Tensor(Shape{2, 0, 3});
      case 4: {
        Tensor x = inputs(2).astype(DType::float32);
        x.data<float>()[0] =
            draw_.chance(50) ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
        return x;
      }
      default:
        return samples::waves({4, 6, 2, 1, 2})
            .astype(draw_.of(std::vector{DType::float64, DType::int32, DType::float16}));
    }
  }
  Tensor x() { return draw_.chance(15) ? malformed() : x_; }
  Tensor y() {
    if (draw_.chance(10) || predicted_.empty()) return malformed();
    const Shape& shape = predicted_.front().shape();
    if (sparse_ && shape.rank() > 1)
      return random_tensor(draw_.random(), shape.slice(0, shape.rank() - 1), DType::int32, 0,
                           static_cast<double>(shape[-1]) + (draw_.chance(15) ? 3 : 0));
    return random_tensor(draw_.random(), shape, DType::float32, 0, 1);
  }
  Batch batch() {
    Batch result{{x()}, {y()}, {}};
    for (std::size_t i = 1; i < predicted_.size(); ++i) result.y.push_back(samples::waves(predicted_[i].shape()));
    if (draw_.chance(15)) result.sample_weight.push_back(samples::waves({result.size()}));
    return result;
  }

  template <class T> std::shared_ptr<T> object(const std::string& class_name) {
    Config config = random_object<T>(draw_, class_name);
    if (draw_.chance(10)) spoil(config, draw_);
    return from_json<T>(config.dump(-1, ' ', false, Config::error_handler_t::replace));
  }
  void compile() {
    attempt("compile", [&] {
      const auto next = [&](const std::vector<std::string>& names) { return names[number_ / 3 % names.size()]; };
      const std::string loss = draw_.chance(50) ? "MeanSquaredError" : next(class_names<Loss>());
      sparse_ = loss.starts_with("Sparse");
      CompileOptions options{.optimizer = object<Optimizer>(next(class_names<Optimizer>())),
                             .loss = Choice<Loss>(object<Loss>(loss)),
                             .run_eagerly = draw_.chance(10),
                             .steps_per_execution = draw_.of(std::vector<std::int64_t>{1, 1, 1, 2, 3, 0})};
      if (draw_.chance(50)) options.metrics = {object<Metric>(next(class_names<Metric>()))};
      if (draw_.chance(10)) options.weighted_metrics = {"mae", draw_.chance(50) ? "accuracy" : "nothing"};
      model_->compile(std::move(options));
    });
  }

  std::vector<CallbackPtr> some_callbacks() {
    std::vector<CallbackPtr> list;
    if (!draw_.chance(25)) return list;
    switch (draw_.below(7)) {
      case 0:
        list.push_back(callbacks::early_stopping({.monitor = "loss", .patience = 1, .restore_best_weights = true}));
        break;
      case 1: list.push_back(callbacks::reduce_lr_on_plateau({.monitor = "loss", .patience = 1})); break;
      case 2: list.push_back(callbacks::csv_logger({.filename = draw_.chance(80) ? "log.csv" : "no/log.csv"})); break;
      case 3:
        list.push_back(callbacks::model_checkpoint({.filepath = draw_.chance(80) ? "best" : "{nothing}",
                                                    .monitor = "loss",
                                                    .save_best_only = draw_.chance(50)}));
        break;
      case 4:
        list.push_back(callbacks::backup_and_restore({.backup_dir = "backup", .delete_checkpoint = draw_.chance(50)}));
        break;
      case 5: list.push_back(callbacks::terminate_on_nan()); break;
      default: list.push_back(callbacks::tensorboard({.log_dir = "logs"}));
    }
    return list;
  }
  FitOptions fit_options() {
    using Numbers = std::vector<std::int64_t>;
    FitOptions options{.epochs = draw_.chance(90) ? 1 + static_cast<int>(draw_.below(2)) : 0,
                       .verbose = 0,
                       .callbacks = some_callbacks(),
                       .shuffle = draw_.chance(50)};
    if (draw_.chance(50)) options.batch_size = draw_.of(Numbers{1, 2, 3, 100, 0, -1, std::int64_t{1} << 62});
    if (draw_.chance(20)) options.validation_split = draw_.of(std::vector<double>{0.25, 0.5, 1, -1, std::nan("")});
    if (draw_.chance(15)) options.validation_data = Data(batch());
    if (draw_.chance(10)) options.class_weight = {{{0, 0.5}, {1, 2.0}}};
    if (draw_.chance(10)) options.steps_per_epoch = draw_.of(Numbers{1, 2, 0, std::int64_t{1} << 62});
    if (draw_.chance(10)) options.initial_epoch = draw_.of(std::vector<int>{1, 5, -1});
    if (draw_.chance(20)) options.workers = static_cast<int>(draw_.below(4));
    if (draw_.chance(10))
      options.max_queue_size = draw_.of(Numbers{0, 1, -1, std::numeric_limits<std::int64_t>::max()});
    return options;
  }
  Data data() {
    const Batch given = batch();
    switch (draw_.below(5)) {
      case 0: {
        Dataset rows = Dataset::from_tensor_slices(given);
        if (draw_.chance(30)) rows = rows.shuffle(draw_.of(std::vector<std::int64_t>{1, 4, 0, std::int64_t{1} << 62}));
        if (draw_.chance(30)) rows = rows.repeat(draw_.of(std::vector<std::int64_t>{2, 0, 3})).take(20);
        if (draw_.chance(90))
          rows = rows.batch(draw_.of(std::vector<std::int64_t>{1, 3, 3, 0, std::int64_t{1} << 62}), draw_.chance(20));
        if (draw_.chance(30))
          rows = rows.prefetch(draw_.of(std::vector<std::int64_t>{1, 2, -1, std::numeric_limits<std::int64_t>::max()}));
        return rows;
      }
      case 1: return std::make_shared<Rows>(given);
      case 2:
        return Generator([given, left = 3]() mutable -> std::optional<Batch> {
          return left-- > 0 ? std::optional(given) : std::nullopt;
        });
      default: return given;
    }
  }

  void fit() {
    const auto& classes = described_.classes;
    if (attempt("fit", [&] { model_->fit(data(), fit_options()); }))
      report_.trained.insert(classes.begin(), classes.end());
  }
  void act() {
    switch (draw_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: fit(); break;
      case 4:
        attempt("evaluate", [&] {
          model_->evaluate(data(), {.batch_size = 3, .verbose = 0, .workers = static_cast<int>(draw_.below(3))});
        });
        break;
      case 5: attempt("train_on_batch", [&] { model_->train_on_batch(batch()); }); break;
      case 6: attempt("predict of other data", [&] { model_->predict_outputs(malformed(), {.verbose = 0}); }); break;
      case 7: save_and_load(); break;
      case 8: attempt("config", [&] { again_from_config(); }); break;
      case 9:
        attempt("set_trainable", [&] {
          const std::vector<LayerPtr> layers = model_->layers();
          if (!layers.empty()) draw_.of(layers)->set_trainable(draw_.chance(50));
        });
        compile();
        break;
      case 10:
        attempt("set_weights", [&] {
          std::vector<Tensor> weights = model_->get_weights();
          if (draw_.chance(20) && !weights.empty()) weights.pop_back();
          if (draw_.chance(50) && !weights.empty()) weights[draw_.below(weights.size())] = malformed();
          model_->set_weights(weights);
        });
        break;
      default:
        attempt("summary and explain", [&] {
          model_->summary({.print_fn = [](std::string_view) {}});
          model_->explain();
        });
    }
  }
  /// Loads the saved model, and compares its results.
  void save_and_load() {
    if (!attempt("save", [&] { model_->save("model"); })) return;
    ModelPtr loaded;
    std::vector<Tensor> before, after;
    const bool whole = attempt("load_model", [&] { loaded = load_model("model"); });
    if (!whole) return wrong("load_model", "what was saved cannot be loaded: " + refusal_);
    if (!attempt("predict", [&] { before = model_->predict_outputs(x_, {.verbose = 0}); })) return;
    if (!attempt("predict of the loaded", [&] { after = loaded->predict_outputs(x_, {.verbose = 0}); }))
      return wrong("load_model", "the loaded model cannot predict: " + refusal_);
    if (!std::equal(before.begin(), before.end(), after.begin(), after.end(), same_bits))
      wrong("load_model", "the loaded model predicts other numbers");
    model_ = loaded;
  }
  void again_from_config() {
    const std::string text = to_json<Layer>(*model_);
    const ModelPtr twin = model_from_json(text);
    if (to_json<Layer>(*twin) != text) wrong("config", "the model of a config has another config: " + text);
  }

  Draws draw_;
  const std::uint64_t number_;
  const std::vector<double>* expected_ = nullptr;
  CaseReport report_;
  std::string refusal_;
  RandomModel described_;
  ModelPtr model_;
  Tensor x_;
  std::vector<Tensor> predicted_;
  bool sparse_ = false;
};

}  // namespace

CaseReport run_api_case(std::uint64_t number) { return Case(number).run(); }

}  // namespace etude::testing
