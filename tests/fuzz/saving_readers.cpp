#include "checkpoint_samples.hpp"
#include "config_samples.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "files_in_memory.hpp"
#include "fuzz/readers.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

namespace etude::testing {
namespace {

/// Discards messages.
TextSink silence() {
  return [](std::string_view) {};
}

std::string packed_folder(const std::string& folder) { return pack(files_in(*host().files, folder)); }

std::string saved(Model& model, bool compiled) {
  const FilesInMemory scope;
  model.build({2, 3});
  if (compiled) {
    model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
    model.train_on_batch(samples::waves({2, 3}), samples::waves({2, 1}));
  }
  model.save("m");
  return packed_folder("m");
}

Functional branched() {
  const SymbolicTensor in = layers::input({.shape = {3}, .name = "in"});
  const LayerPtr shared = layers::dense({.units = 3, .name = "shared"});
  const SymbolicTensor once = shared->apply(in), twice = shared->apply(once);
  return Functional({in}, {layers::add({.name = "sum"})->apply({once, twice}),
                           layers::dense({.units = 1, .name = "out"})->apply(twice)});
}

/// A fit with a backup that stops within an epoch if `stop`.
void fit_with_backup(bool stop) {
  Sequential model({layers::dense({.units = 2}), layers::dropout(0.5), layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const auto stopper = callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) {
    if (stop) throw std::runtime_error("stop");
  }});
  static const Tensor x = samples::waves({6, 2}), y = samples::signs_of(x);
  model.fit(x, y,
            {.batch_size = 2,
             .epochs = 2,
             .verbose = 0,
             .callbacks = {callbacks::early_stopping({.monitor = "loss", .patience = 3, .restore_best_weights = true}),
                           callbacks::csv_logger({.filename = "log.csv"}),
                           callbacks::backup_and_restore(
                               {.backup_dir = "b", .save_freq = 1, .delete_checkpoint = false, .warn = silence()}),
                           stopper}});
}

template <class T> void from_and_to_json(std::string_view text) { to_json(*from_json<T>(text)); }
constexpr void (*object_kinds[])(std::string_view){from_and_to_json<Layer>,
                                                   from_and_to_json<Loss>,
                                                   from_and_to_json<Metric>,
                                                   from_and_to_json<Optimizer>,
                                                   from_and_to_json<LearningRateSchedule>,
                                                   from_and_to_json<Initializer>,
                                                   from_and_to_json<Regularizer>,
                                                   from_and_to_json<Constraint>};

template <class T> void add_configs(FuzzInputs& inputs, char kind) {
  for (const std::string& name : class_names<T>()) {
    const nlohmann::json least{{"class_name", name}, {"config", samples::needed(name)}};
    inputs.push_back(kind + to_json(*from_json<T>(least.dump())));
  }
}

}  // namespace

void read_safetensors_file(std::string_view bytes) { parse_safetensors(bytes_of(bytes), "a"); }

FuzzInputs safetensors_inputs() {
  return {safetensors_file(tensors_of_all_kinds(), {{"key", "value"}}), safetensors_file(std::vector<NamedTensor>{}),
          safetensors_file(std::vector<NamedTensor>{{"w", samples::waves({4})}}),
          safetensors_file(R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", "abcd")};
}

void read_tfjs_model(std::string_view bytes) {
  const auto files = folder_of(unpacked(bytes), "m");
  const Json json = parse_json(text_in(*files, "m/model.json"), "m/model.json");
  read_tfjs_weights(json.is_object() ? json.value("weightsManifest", Json()) : Json(), "m/model.json", *files);
}

FuzzInputs tfjs_inputs() {
  const auto files = std::make_shared<MemoryVfs>();
  files->make_folder("m");
  const Json manifest = write_tfjs_weights(
      {{"kernel", samples::waves({2, 3})}, {"seed", Tensor::from<std::int32_t>({2}, {1, 2})}}, "m", *files);
  files->open("m/model.json", false)->append(json_text({{"modelTopology", "x"}, {"weightsManifest", manifest}}));
  const std::string quantized = R"({"weightsManifest": [{"paths": ["a.bin", "b.bin"], "weights": [
    {"name": "q", "shape": [2, 2], "dtype": "float32", "quantization": {"dtype": "uint16", "scale": 0.5, "min": -1}},
    {"name": "h", "shape": [1], "dtype": "float32", "quantization": {"dtype": "float16"}},
    {"name": "i", "shape": [], "dtype": "int32", "quantization": {"dtype": "uint8", "scale": 2, "min": 0}},
    {"name": "b", "shape": [1], "dtype": "bool"}]}]})";
  return {pack(files_in(*files, "m")),
          pack({{"model.json", quantized}, {"a.bin", "abcdefgh"}, {"b.bin", std::string("ab1\1", 4)}})};
}

void read_manifest(std::string_view bytes) { parse_manifest(bytes, "m"); }

FuzzInputs manifest_inputs() {
  FuzzInputs inputs;
  for (Checkpoint checkpoint : {checkpoint_of(5), Checkpoint{.step = 0, .tensors = {}}}) {
    checkpoint.score = 0.25;
    inputs.push_back(compose_checkpoint(checkpoint, 7).back().head);
  }
  return inputs;
}

void read_checkpoint(std::string_view bytes) {
  load_newest_checkpoint("c", folder_of(unpacked(bytes), "c"), silence());
}

FuzzInputs checkpoint_inputs() {
  FuzzInputs inputs;
  for (const int count : {1, 2}) {
    const auto files = std::make_shared<MemoryVfs>();
    CheckpointStore store("c", {.files = files});
    for (int step = 1; step <= count; ++step)
      store.save({.step = step, .tensors = {{"w", {{"a", samples::waves({3})}}}}, .documents = {{"state", "{}"}}});
    inputs.push_back(pack(files_in(*files, "c")));
  }
  return inputs;
}

void read_saved_model(std::string_view bytes) {
  const FilesInMemory scope;
  host().files = folder_of(unpacked(bytes), "m");
  // load_model reports skipped checkpoints on stderr; here they count as rejected.
  load_newest_checkpoint("m", {}, [](std::string_view line) { fail(ErrorKind::data, "m", line); });
  load_model("m")->predict_outputs(samples::waves({2, 3}), {.verbose = 0});
}

FuzzInputs saved_model_inputs() {
  Sequential dense(samples::two_dense()),
      drawing({layers::dropout(0.5), layers::batch_normalization(), layers::dense({.units = 1})});
  Functional functional = branched();
  return {saved(dense, true), saved(drawing, true), saved(functional, false)};
}

void read_backup(std::string_view bytes) {
  const FilesInMemory scope;
  host().files = folder_of(unpacked(bytes), "b");
  fit_with_backup(false);
}

FuzzInputs backup_inputs() {
  FuzzInputs inputs;
  for (const bool stop : {false, true}) {
    const FilesInMemory scope;
    try {
      fit_with_backup(stop);
    } catch (const std::runtime_error&) {
    }
    inputs.push_back(packed_folder("b"));
  }
  return inputs;
}

void read_object_config(std::string_view bytes) {
  if (bytes.empty()) return;
  object_kinds[static_cast<unsigned char>(bytes.front()) % std::size(object_kinds)](bytes.substr(1));
}

FuzzInputs config_inputs() {
  FuzzInputs inputs;
  add_configs<Layer>(inputs, '\0');
  add_configs<Loss>(inputs, '\1');
  add_configs<Metric>(inputs, '\2');
  add_configs<Optimizer>(inputs, '\3');
  add_configs<LearningRateSchedule>(inputs, '\4');
  add_configs<Initializer>(inputs, '\5');
  add_configs<Regularizer>(inputs, '\6');
  add_configs<Constraint>(inputs, '\7');
  return inputs;
}

void read_model_config(std::string_view bytes) {
  const ModelPtr model = model_from_json(bytes);
  to_json<Layer>(*model);
  model->summary({.print_fn = silence()});
}

FuzzInputs model_config_inputs() {
  Sequential nested({layers::dense({.units = 2}), std::make_shared<Sequential>(samples::two_dense())});
  nested.build({1, 3});
  Sequential images({layers::conv2d({.filters = 2, .kernel_size = 2}), layers::max_pooling2d(), layers::flatten()});
  images.build({1, 6, 5, 1});
  const std::shared_ptr<Recurrent> lstm = layers::lstm({.units = 2});
  Sequential words({layers::embedding({.input_dim = 7, .output_dim = 2}), lstm});
  return {to_json<Layer>(nested), to_json<Layer>(images), to_json<Layer>(words), to_json<Layer>(branched())};
}

void read_filepath(std::string_view bytes) {
  const FilesInMemory scope;
  static const std::unique_ptr<Model> model = [] {
    auto unit = std::make_unique<Sequential>(samples::summing_unit());
    unit->build({2, 2});
    return unit;
  }();
  const auto checkpoint = callbacks::model_checkpoint({.filepath = std::string(bytes) + ".safetensors",
                                                       .monitor = "loss",
                                                       .save_weights_only = true,
                                                       .print = silence(),
                                                       .warn = silence()});
  checkpoint->set_model(model.get());
  Logs logs{{"loss", 0.125}};
  checkpoint->on_train_begin(logs);
  checkpoint->on_epoch_end(0, logs);
}

FuzzInputs filepath_inputs() { return {"model", "m-{epoch:02d}-{loss:.3f}", "{epoch}", "{loss:e}-{loss:10g}", "a/b"}; }

}  // namespace etude::testing
