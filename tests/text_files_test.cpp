#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <map>

#include "etude/base/detail/archive.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "scratch_folder.hpp"

// Texts in a folder for each class, against Keras 3: "tree" and "directories" of tests/golden/text.json. Vocabularies
// in .keras files: "texts" of tests/golden/keras_states.json.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::error_of;
using testing::numbers;
using Texts = std::vector<std::string>;
using utils::text_dataset_from_directory;
using utils::TextDatasetOptions;

/// The tree of the golden numbers, in "texts".
struct Tree {
  const json golden = testing::golden("text.json");  // before the system's files are replaced
  const testing::FilesInMemory scope;
  Tree() {
    for (const auto& [path, text] : golden.at("tree").items()) add(path, text);
  }
  void add(const std::string& path, const std::string& text) const {
    scope.files->make_folders(parent_of("texts/" + path));
    scope.files->replace("texts/" + path, {text});
  }
};

TextDatasetOptions options_in(const json& given) {
  TextDatasetOptions options{.shuffle = false};
  if (given.contains("label_mode") && given.at("label_mode").is_null()) options.label_mode = {};
  if (given.contains("label_mode") && given.at("label_mode").is_string()) options.label_mode = given.at("label_mode");
  if (given.contains("class_names")) options.class_names = given.at("class_names").get<Texts>();
  if (given.contains("max_length")) options.max_length = given.at("max_length").get<std::int64_t>();
  if (given.contains("validation_split")) options.validation_split = given.at("validation_split").get<double>();
  if (given.contains("subset")) options.subset = given.at("subset").get<std::string>();
  return options;
}

Texts sorted(Texts texts) {
  std::ranges::sort(texts);
  return texts;
}

std::string path_of(const json& file) { return testing::golden_path(file.get<std::string>()); }

Strings strings_of(const json& texts) {
  if (texts.front().is_string()) return Strings(texts.get<Texts>());
  Texts all;
  for (const json& row : texts)
    for (const json& text : row) all.push_back(text);
  return {{std::ssize(texts), std::ssize(texts.front())}, std::move(all)};
}

}  // namespace

TEST_CASE("texts of a folder, their labels and their order are those of Keras", "[text][data]") {
  const Tree tree;
  for (const json& test : tree.golden.at("directories")) {
    CAPTURE(test.at("options").dump());
    const utils::TextDataset read = text_dataset_from_directory("texts", options_in(test.at("options")));
    CHECK(read.texts == test.at("texts").get<Texts>());
    CHECK(read.class_names == (test.at("class_names").is_null() ? Texts{} : test.at("class_names").get<Texts>()));
    REQUIRE(static_cast<bool>(read.labels) == test.contains("labels"));
    if (!read.labels) continue;
    CHECK(read.labels.shape() == testing::shape_in(test.at("shape")));
    CHECK(numbers(read.labels) == testing::numbers_in(test.at("labels")));
  }
}

TEST_CASE("shuffled texts keep their labels, and both parts of one seed have all texts", "[text][data]") {
  const Tree tree;
  for (int i = 0; i < 30; ++i) tree.add("a/many/" + std::to_string(i) + ".txt", "a " + std::to_string(i));
  const auto part = [](const char* subset) {
    return text_dataset_from_directory("texts", {.seed = 5, .validation_split = 0.4, .subset = subset});
  };
  const auto all = text_dataset_from_directory("texts", {.shuffle = false}), first = part("training"),
             last = part("validation");
  Texts both = first.texts;
  both.insert(both.end(), last.texts.begin(), last.texts.end());
  CHECK(both != all.texts);
  CHECK(sorted(both) == sorted(all.texts));
  CHECK(part("training").texts == first.texts);
  std::map<std::string, double> label_of;
  const auto each_label = [](const utils::TextDataset& of, const auto& call) {
    for (std::size_t i = 0; i < of.texts.size(); ++i) call(of.texts[i], of.labels.at(static_cast<std::int64_t>(i)));
  };
  each_label(all, [&](const std::string& text, double label) { label_of[text] = label; });
  REQUIRE(label_of.size() == all.texts.size());
  for (const auto* each : {&first, &last})
    each_label(*each, [&](const std::string& text, double label) { CHECK(label == label_of.at(text)); });
}

TEST_CASE("labels of the caller are for the files of a folder in the order of their paths", "[text][data]") {
  const Tree tree;
  const std::vector<std::int64_t> labels{7, 0, 3, 3, 0, 7, 3, 9, 9};
  const auto all = text_dataset_from_directory("texts", {.label_mode = {}, .shuffle = false});
  const auto read = text_dataset_from_directory("texts", {.labels = labels, .shuffle = false});
  REQUIRE(all.texts.size() == labels.size());
  CHECK(read.texts == all.texts);
  CHECK(numbers(read.labels) == std::vector<double>(labels.begin(), labels.end()));
  CHECK(read.class_names == Texts{"0", "3", "7", "9"});
}

#ifndef __EMSCRIPTEN__
TEST_CASE("links to folders are classes, and are followed inside of them on request", "[text][data]") {
  const testing::ScratchFolder folder("etude-links");
  const std::string path = folder.path(), texts = path + "/texts";
  for (const char* each : {"/texts/a", "/elsewhere"}) host().files->make_folders(path + each);
  host().files->replace(texts + "/a/1.txt", {"one"});
  host().files->replace(path + "/elsewhere/2.txt", {"two"});
  std::filesystem::create_directory_symlink(path + "/elsewhere", texts + "/a/link");
  std::filesystem::create_directory_symlink(path + "/elsewhere", texts + "/b");
  std::filesystem::create_symlink(path + "/elsewhere/2.txt", texts + "/a/3.txt");
  const auto read = text_dataset_from_directory(texts, {.shuffle = false});
  CHECK(read.class_names == Texts{"a", "b"});
  CHECK(read.texts == Texts{"one", "two", "two"});  // the link to a file is a file
  const auto followed = text_dataset_from_directory(texts, {.shuffle = false, .follow_links = true});
  CHECK(followed.texts == Texts{"one", "two", "two", "two"});
  CHECK(numbers(followed.labels) == std::vector<double>{0, 0, 0, 1});
  std::filesystem::create_directory_symlink(texts, texts + "/a/circle");
  CHECK_THAT(error_of([&] { text_dataset_from_directory(texts, {.follow_links = true}); }),
             ContainsSubstring("more than 100 deep") || ContainsSubstring("cannot be"));
}
#endif

TEST_CASE("max_length does not divide a character", "[text][data]") {
  const testing::FilesInMemory scope;
  scope.files->make_folders("texts/a");
  scope.files->replace("texts/a/1.txt", {"x\xc3\xa9\xf0\x9f\x98\x80"});
  const auto read = [](std::int64_t bytes) {
    return text_dataset_from_directory("texts", {.max_length = bytes}).texts.front();
  };
  CHECK(read(1) == "x");
  CHECK(read(2) == "x");
  CHECK(read(3) == "x\xc3\xa9");
  CHECK(read(6) == "x\xc3\xa9");
  CHECK(read(7) == "x\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("options that contradict each other, and folders without texts, are errors", "[text][data][errors]") {
  const Tree tree;
  tree.scope.files->make_folders("empty/a");
  const auto error = [](const TextDatasetOptions& options, const char* folder = "texts") {
    return error_of([&] { text_dataset_from_directory(folder, options); });
  };
  CHECK_THAT(error({.label_mode = "one_hot"}), ContainsSubstring("label_mode = \"one_hot\""));
  CHECK_THAT(error({.label_mode = "binary"}), ContainsSubstring("for 3 classes"));
  CHECK_THAT(error({.class_names = {"a", "d"}}), ContainsSubstring("class_names with \"d\""));
  CHECK_THAT(error({.label_mode = {}, .class_names = {"a"}}), ContainsSubstring("class_names without labels"));
  CHECK_THAT(error({.validation_split = 0.5}), ContainsSubstring("one of validation_split and subset"));
  CHECK_THAT(error({.validation_split = 0.5, .subset = "training"}), ContainsSubstring("without a seed"));
  CHECK_THAT(error({.shuffle = false, .validation_split = 1, .subset = "training"}),
             ContainsSubstring("validation_split = 1"));
  CHECK_THAT(error({.max_length = 0}), ContainsSubstring("max_length = 0"));
  CHECK_THAT(error({}, "empty"), ContainsSubstring("no files .txt below \"empty\""));
  CHECK_FALSE(error({}, "nowhere").empty());
}

TEST_CASE("a model of Keras that begins with strings begins after them, and its layers of strings have vocabularies",
          "[text][saving]") {
  const json states = testing::golden("keras_states.json");
  for (const json& test : states.at("texts").at("models")) {
    const std::string path = path_of(test.at("files").at(0));
    INFO(path);
    const auto layers = load_string_layers(path);
    REQUIRE(layers.size() == test.count("texts"));
    if (layers.empty()) continue;
    const StringLayer& layer = *layers.begin()->second;
    CHECK(dynamic_cast<const VocabularyLayer&>(layer).get_vocabulary() == test.at("vocabulary").get<Texts>());
    const Tensor x = layer(strings_of(test.at("texts")));
    if (test.contains("encoded"))
      CHECK(testing::difference(x, testing::tensor_of_lists(test.at("encoded")), {.atol = 1e-6, .rtol = 1e-6}) == "");
    const ModelPtr model = load_model(path);
    CHECK(testing::difference(model->predict(x, {.verbose = 0}), testing::tensor_of_lists(test.at("y")),
                              {.atol = 1e-5, .rtol = 1e-5}) == "");
    for (const json& loss : test.at("losses"))
      CHECK(std::abs(model->train_on_batch(x, testing::tensor_of_lists(test.at("targets")))["loss"] -
                     loss.get<double>()) < 1e-5);
  }
}

TEST_CASE("layers of strings are loaded from bytes, and from any files", "[text][saving]") {
  const std::string path = testing::golden_path("keras/texts.keras");
  const std::vector<std::byte> bytes = read_file(path);
  const auto files = std::make_shared<MemoryVfs>();
  files->open("m.keras", false)->append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto vocabulary = [](const auto& layers) {
    return dynamic_cast<const VocabularyLayer&>(*layers.at("text_vectorization")).get_vocabulary();
  };
  const Texts expected = vocabulary(load_string_layers(path));
  CHECK(expected.size() > 2);
  CHECK(vocabulary(load_string_layers(bytes)) == expected);
  CHECK(vocabulary(load_string_layers("m.keras", {.files = files})) == expected);
  CHECK_THAT(error_of([&] { load_string_layers("other.keras", {.files = files}); }), ContainsSubstring("other.keras"));
  CHECK_THAT(error_of([&] { load_string_layers(std::span(bytes).first(100)); }), ContainsSubstring("ZIP archive"));
}

TEST_CASE("a vocabulary that data gave is beside the config of a .keras file; boundaries and options are in it",
          "[text][saving]") {
  const testing::FilesInMemory scope;
  const Tensor x = Tensor::from<std::int32_t>({2, 3}, {5, 7, 7, 0, -2, 5});
  const auto adapted = layers::integer_lookup({.num_oov_indices = 2, .mask_token = 0});
  adapted->adapt(x);
  const auto binned = layers::discretization({.num_bins = 3});
  binned->adapt(Tensor::from<float>({6}, {0, 1, 2, 3, 4, 5}));
  Sequential model({adapted, layers::integer_lookup({.vocabulary = {3, 4}}), binned});
  model.call_all({x});
  model.save("m.keras");
  const std::vector<std::byte> bytes = scope.files->read("m.keras");
  const auto archive = open_archive(bytes, "m.keras");
  const auto text_of = [&](const char* name) {
    const std::vector<std::byte> text = archive->read_all(*archive->find(name));
    return std::string(reinterpret_cast<const char*>(text.data()), text.size());
  };
  CHECK(text_of("assets/layers/integer_lookup/vocabulary.txt") == "0\n-1\n-1\n7\n5\n-2");
  CHECK(archive->find("assets/layers/integer_lookup_1/vocabulary.txt") == nullptr);
  const json layers = json::parse(text_of("config.json")).at("config").at("layers");
  const std::size_t first = layers.size() - 3;
  CHECK(layers.at(first).at("config").at("vocabulary").is_null());
  CHECK(layers.at(first + 1).at("config").at("vocabulary") == json({3, 4}));
  CHECK(layers.back().at("config").at("bin_boundaries").size() == 2);
  CHECK(layers.back().at("config").at("num_bins") == 3);
  CHECK(testing::same_bits(load_model("m.keras")->call_all({x}).front(), model.call_all({x}).front()));
}

TEST_CASE("a damaged vocabulary, and a model of strings alone, are Errors", "[text][saving][errors]") {
  const testing::FilesInMemory scope;
  const auto error = [](const std::string& kind, const json& unknown, const std::string& vocabulary) {
    const bool of_strings = unknown.is_string();
    const json input{{"batch_shape", {nullptr, 3}}, {"dtype", of_strings ? "string" : "int64"}};
    const json lookup{{"name", "a"}, {"vocabulary", nullptr}, {"oov_token", unknown}};
    const json layers{{{"class_name", "InputLayer"}, {"config", input}},
                      {{"class_name", of_strings ? "StringLookup" : "IntegerLookup"}, {"config", lookup}}};
    const json model{{"class_name", "Sequential"}, {"config", {{"layers", layers}}}};
    const auto archive = create_archive("m.keras");
    archive->add("metadata.json", "{}");
    archive->add("config.json", model.dump());
    archive->add("assets/layers/" + kind + "/vocabulary.txt", vocabulary);
    archive->commit();
    return error_of([] { load_model("m.keras"); });
  };
  CHECK_THAT(error("integer_lookup", -1, "-1\n3\nb"), ContainsSubstring("line 2 is \"b\" - expected an integer"));
  CHECK_THAT(error("integer_lookup", -1, "-1\n"), ContainsSubstring("called before adapt()"));
  CHECK_THAT(error("string_lookup", "[UNK]", "[UNK]\na\xFF"), ContainsSubstring("line 1 is no UTF-8"));
  CHECK_THAT(error("string_lookup", "[UNK]", "[UNK]\na\nb"), ContainsSubstring("has only layers of strings, \"a\""));
  CHECK(load_string_layers("m.keras").count("a") == 1);
}

}  // namespace etude
