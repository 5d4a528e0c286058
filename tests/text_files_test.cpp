#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "scratch_folder.hpp"

// Texts in a folder for each class, against Keras 3: "tree" and "directories" of tests/golden/text.json.
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
  for (std::size_t i = 0; i < first.texts.size(); ++i)
    if (first.texts[i].starts_with("a ")) CHECK(first.labels.at(static_cast<std::int64_t>(i)) == 0);
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

}  // namespace etude
