#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>

#include "etude/data/detail/resize_image.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"

// Images in files and folders, against Keras 3 on TensorFlow and Pillow: tests/golden/images.json. A build without
// libpng and libjpeg, such as that for WebAssembly, decodes nothing.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::error_of;
using testing::numbers;
using Names = std::vector<std::string>;
using namespace utils;

bool decodes() { return image_formats() == Names{"png", "jpeg"}; }

/// The tree of the golden numbers, in "images", and the broken files, in "broken".
struct Tree {
  const json golden = testing::golden("images.json");  // before the system's files are replaced
  const testing::FilesInMemory scope;
  Tree() {
    for (const auto& [path, hex] : golden.at("tree").items()) add("images/" + path, testing::bytes_of_hex(hex));
    for (const auto& [path, hex] : golden.at("broken").items()) add("broken/" + path, testing::bytes_of_hex(hex));
  }
  void add(const std::string& path, const std::string& bytes) const {
    scope.files->make_folders(parent_of(path));
    scope.files->replace(path, {bytes});
  }
};

ImageDatasetOptions options_in(const json& given) {
  ImageDatasetOptions options{.image_size = {3, 4}, .shuffle = false, .verbose = false};
  if (given.contains("labels")) options.labels = given.at("labels").get<std::vector<std::int64_t>>();
  if (given.contains("label_mode") && given.at("label_mode").is_null()) options.label_mode = {};
  if (given.contains("label_mode") && given.at("label_mode").is_string()) options.label_mode = given.at("label_mode");
  if (given.contains("class_names")) options.class_names = given.at("class_names").get<Names>();
  if (given.contains("batch_size")) options.batch_size = given.at("batch_size").get<std::int64_t>();
  if (given.contains("validation_split")) options.validation_split = given.at("validation_split").get<double>();
  for (auto [name, member] : {std::pair{"color_mode", &ImageDatasetOptions::color_mode},
                              {"interpolation", &ImageDatasetOptions::interpolation},
                              {"data_format", &ImageDatasetOptions::data_format}})
    if (given.contains(name)) options.*member = given.at(name);
  if (given.contains("subset")) options.subset = given.at("subset").get<std::string>();
  options.crop_to_aspect_ratio = given.value("crop_to_aspect_ratio", false);
  options.pad_to_aspect_ratio = given.value("pad_to_aspect_ratio", false);
  return options;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// The numbers of a file may differ from TensorFlow's: its JPEGs are less accurate, and it does not round gray.
double tolerance(const std::string& path, const std::string& color_mode) {
  return (path.ends_with("g") && !path.ends_with(".png") ? 3 : 1e-3) + (color_mode == "grayscale" ? 1 : 0);
}

/// Images of one pixel whose value is the number at the end of their path.
Task<Tensor> numbered(std::string path) {
  const auto number = static_cast<std::uint8_t>(std::stoi(path.substr(path.find_last_of('/') + 1)));
  co_return Tensor::from<std::uint8_t>(Shape{1, 1, 1}, {number});
}

/// The numbers of such images, in the order of an iteration.
std::vector<double> numbers_of(const Dataset& dataset, std::uint64_t iteration = 0) {
  std::vector<double> result;
  DatasetIterator elements(dataset, iteration);
  while (const std::optional<Batch> element = elements.next().get())
    for (std::int64_t i = 0; i < element->x[0].size(); ++i) {
      result.push_back(element->x[0].at(i));
      CHECK(element->y[0].at(i) == std::floor(element->x[0].at(i) / 10));  // its label, by its folder
    }
  return result;
}

}  // namespace

TEST_CASE("images of a folder, their labels and their order are those of Keras", "[images][data]") {
  if (!decodes()) SKIP("no libpng or libjpeg");
  const Tree tree;
  for (const json& test : tree.golden.at("cases")) {
    CAPTURE(test.at("options").dump());
    const ImageDatasetOptions options = options_in(test.at("options"));
    const ImageDataset read = image_dataset_from_directory("images", options);
    CHECK(read.class_names == (test.at("class_names").is_null() ? Names{} : test.at("class_names").get<Names>()));
    Names paths;
    for (const std::string& path : read.file_paths) paths.push_back(path.substr(std::string("images/").size()));
    CHECK(paths == test.at("file_paths").get<Names>());
    CHECK(read.cardinality() == std::ssize(test.at("batches")));
    CHECK(read.file_count() == (has_device_libraries ? std::ssize(paths) : 0));
    std::size_t file = 0, batches = 0;
    for (const Batch& batch : read) {
      const json& expected = test.at("batches").at(batches++);
      REQUIRE(batch.x[0].shape() == testing::shape_in(expected.at("shape")));
      const std::vector<double> x = numbers(batch.x[0]), y = testing::numbers_in(expected.at("x"));
      const std::size_t size = x.size() / static_cast<std::size_t>(batch.size());
      for (std::size_t i = 0; i < x.size(); i += size, ++file) {
        CAPTURE(paths[file]);
        CHECK(largest_difference(std::span(x).subspan(i, size), std::span(y).subspan(i, size)) <=
              tolerance(paths[file], options.color_mode));
      }
      REQUIRE(batch.y.size() == expected.contains("labels"));
      if (batch.y.empty()) continue;
      CHECK(batch.y[0].shape() == testing::shape_in(expected.at("labels_shape")));
      CHECK(numbers(batch.y[0]) == testing::numbers_in(expected.at("labels")));
    }
    CHECK(batches == test.at("batches").size());
  }
}

TEST_CASE("pixels of PNG and JPEG files are those of Pillow", "[images][data]") {
  if (!decodes()) SKIP("no libpng or libjpeg");
  const Tree tree;
  for (const json& test : tree.golden.at("decoded")) {
    const std::string mode = test.at("mode"), path = test.at("path");
    CAPTURE(path, mode);
    const char* color_mode = mode == "L" ? "grayscale" : mode == "RGB" ? "rgb" : "rgba";
    const Tensor image = load_img("images/" + path, {.color_mode = color_mode});
    REQUIRE(image.shape() == testing::shape_in(test.at("shape")));
    CHECK(image.dtype() == DType::float32);
    // Pillow returns the brightness of JPEGs as it is in the file.
    const double allowed = path == "cats/2.jpg" && mode == "L" ? 2 : 0;
    CHECK(largest_difference(numbers(image), testing::numbers_in(test.at("x"))) <= allowed);
  }
  const Tensor small = load_img("images/cats/1.png", {.target_size = {2, 3}, .keep_aspect_ratio = true});
  CHECK(small.shape() == Shape{2, 3, 3});
  CHECK_THAT(error_of([] { load_img("images/cats/1.png", {.target_size = {2, 3, 4}}); }),
             ContainsSubstring("target_size = [2, 3, 4]"));
}

TEST_CASE("images are resized with the numbers of the layer Resizing", "[images][data]") {
  Random random(3, RandomStream::step);
  for (int i = 0; i < 40; ++i) {
    const auto extent = [&] { return static_cast<std::int64_t>(random.below(9)) + 1; };
    Tensor image({extent(), extent(), 1 + i % 4}, DType::uint8);
    for (std::uint8_t& value : image.data<std::uint8_t>()) value = static_cast<std::uint8_t>(random.bits());
    const images::Resize to{.height = extent(),
                            .width = extent(),
                            .nearest = i % 2 == 0,
                            .fit = static_cast<images::Fit>(i % 3),
                            .channels_first = i % 5 == 0};
    CAPTURE(image.shape(), to.height, to.width, i);
    const LayerPtr layer = layers::resizing({.height = to.height,
                                             .width = to.width,
                                             .interpolation = to.nearest ? "nearest" : "bilinear",
                                             .crop_to_aspect_ratio = to.fit == images::Fit::crop,
                                             .pad_to_aspect_ratio = to.fit == images::Fit::pad});
    const Shape& shape = image.shape();
    Tensor expected = (*layer)(image.astype(DType::float32).reshape({1, shape[0], shape[1], shape[2]}));
    const Tensor result = images::resized(image, to);
    if (to.channels_first) {
      const LayerPtr permute = layers::permute({.dims = {3, 1, 2}});
      expected = (*permute)(expected);
    }
    CHECK(result.shape() == expected.shape().without(0));
    CHECK(largest_difference(numbers(result), numbers(expected)) < 1e-3);
  }
}

TEST_CASE("shuffled images keep their labels, and both parts of one seed have all images", "[images][data]") {
  const testing::FilesInMemory scope;
  std::set<double> all;
  for (int i = 0; i < 60; ++i) {
    const std::string folder = "many/" + std::to_string(i / 10);
    scope.files->make_folders(folder);
    scope.files->replace(folder + '/' + std::to_string(i) + ".png", {});
    all.insert(i);
  }
  const auto parts = [](const char* subset) {
    return image_datasets("many",
                          {.color_mode = "grayscale",
                           .batch_size = 7,
                           .image_size = 1,
                           .seed = 5,
                           .validation_split = 0.4,
                           .subset = subset,
                           .verbose = false},
                          numbered);
  };
  const std::vector<ImageDataset> both = parts("both");
  REQUIRE(both.size() == 2);
  const std::vector<double> training = numbers_of(both[0]), validation = numbers_of(both[1]);
  CHECK(training.size() == 36);
  std::set<double> together(training.begin(), training.end());
  together.insert(validation.begin(), validation.end());
  CHECK(together == all);
  CHECK_FALSE(std::ranges::is_sorted(validation));  // a random part, in the same order each time
  CHECK(numbers_of(both[1], 1) == validation);
  const std::vector<double> again = numbers_of(both[0], 1);
  CHECK(again != training);
  CHECK(std::set(again.begin(), again.end()) == std::set(training.begin(), training.end()));
  CHECK(both[0].file_paths == parts("training").front().file_paths);
  CHECK(both[1].file_paths == parts("validation").front().file_paths);
}

TEST_CASE("shuffled images: the first order is not the one of the files once more", "[images][data]") {
  const testing::FilesInMemory scope;
  for (int i = 0; i < 60; ++i) {
    const std::string folder = "many/" + std::to_string(i / 10);
    scope.files->make_folders(folder);
    scope.files->replace(folder + '/' + std::to_string(i) + ".png", {});
  }
  for (const std::int64_t seed : {1, 5}) {
    const ImageDataset images =
        image_datasets("many",
                       {.color_mode = "grayscale", .batch_size = 7, .image_size = 1, .seed = seed, .verbose = false},
                       numbered)
            .front();
    // The places of the files among all of them, and those of the images among the files.
    std::vector<std::ptrdiff_t> files, elements;
    for (const std::string& path : images.file_paths)
      files.push_back(std::stoi(path.substr(path.find_last_of('/') + 1)));
    for (const double number : numbers_of(images))
      elements.push_back(std::ranges::find(files, static_cast<std::ptrdiff_t>(number)) - files.begin());
    REQUIRE(elements.size() == files.size());
    CHECK(elements != files);
    std::ranges::reverse(elements);
    CHECK(elements != files);
  }
}

TEST_CASE("a model is trained on both parts of a folder of images", "[images][data]") {
  if (!decodes()) SKIP("no libpng or libjpeg");
  const Tree tree;
  const auto [training, validation] = image_datasets_from_directory("images", {.label_mode = "binary",
                                                                               .class_names = {"cats", "dogs"},
                                                                               .batch_size = 2,
                                                                               .image_size = 8,
                                                                               .seed = 1,
                                                                               .validation_split = 0.4,
                                                                               .verbose = false});
  CHECK(training.file_paths.size() == 5);
  CHECK(validation.file_paths.size() == 2);
  Sequential model({layers::rescaling({.scale = 1.0 / 255}), layers::flatten(), layers::dense({.units = 1})});
  model.compile({.loss = "mse"});
  const auto history = model.fit(training, {.epochs = 2, .verbose = 0, .validation_data = validation});
  CHECK(std::isfinite((*history)["loss"].back()));
  CHECK(std::isfinite((*history)["val_loss"].back()));
}

TEST_CASE("a file that is no image, or a damaged one, is an error with its path", "[images][data][errors]") {
  const Tree tree;
  const std::vector<std::pair<const char*, const char*>> reasons{{"short.png", "a damaged PNG image"},
                                                                 {"flipped.png", "a damaged PNG image"},
                                                                 {"huge.png", "131072 x 131072 pixels"},
                                                                 {"wide.png", "bytes for 4000 x 30000 pixels"},
                                                                 {"short.jpg", "a damaged JPEG image"},
                                                                 {"wide.jpg", "bytes for 2000 x 60000 pixels"},
                                                                 {"huge.jpg", "60000 x 60000 pixels"},
                                                                 {"cmyk.jpg", "not CMYK"},
                                                                 {"empty.png", "bytes of another format"},
                                                                 {"text.png", "bytes of another format"},
                                                                 {"a.gif", "a GIF image"},
                                                                 {"a.bmp", "a BMP image"}};
  CHECK(reasons.size() == tree.golden.at("broken").size());
  for (const auto& [name, reason] : reasons) {
    CAPTURE(name);
    const std::string path = std::string("broken/") + name, error = error_of([&] { load_img(path); });
    CHECK_THAT(error, ContainsSubstring(path));
    const bool is_png = error.find("without libpng") != error.npos,
               is_jpeg = error.find("without libjpeg") != error.npos;
    if (decodes() || !(is_png || is_jpeg)) CHECK_THAT(error, ContainsSubstring(reason));
    CHECK(is_png + is_jpeg + decodes() <= 1);
  }
  const auto iterate = [] {
    for (const Batch& batch : image_dataset_from_directory("broken", {.label_mode = {}, .verbose = false}))
      CHECK(batch.y.empty());
  };
  CHECK_THAT(error_of(iterate), ContainsSubstring("broken/"));
  const auto gray_of_floats = [](std::string) -> Task<Tensor> { co_return Tensor({1, 1, 1}); };
  const auto read_floats = [&] { numbers_of(image_datasets("images", {.verbose = false}, gray_of_floats).front()); };
  CHECK_THAT(error_of(read_floats), ContainsSubstring("pixels float32 [1, 1, 1]"));
}

TEST_CASE("options of images that contradict each other are errors", "[images][data][errors]") {
  const Tree tree;
  const auto error = [](const ImageDatasetOptions& options) {
    return error_of([&] { image_dataset_from_directory("images", options); });
  };
  CHECK_THAT(error({.labels = {1, 2}}), ContainsSubstring("2 labels for 7 files"));
  CHECK_THAT(error({.labels = {0, 1, 2, 3, 4, 5, -1}}), ContainsSubstring("label -1"));
  CHECK_THAT(error({.labels = {0, 1, 3, 3, 1, 0, 0}, .label_mode = "categorical"}), ContainsSubstring("label 3"));
  CHECK_THAT(error({.labels = {1}, .class_names = {"cats"}}), ContainsSubstring("labels and class_names"));
  CHECK_THAT(error({.labels = {1}, .label_mode = {}}), ContainsSubstring("labels without a label_mode"));
  CHECK_THAT(error({.label_mode = "binary"}), ContainsSubstring("for 3 classes"));
  CHECK_THAT(error({.color_mode = "bgr"}), ContainsSubstring("color_mode = \"bgr\""));
  CHECK_THAT(error({.image_size = {0, 4}}), ContainsSubstring("image_size = [0, 4]"));
  CHECK_THAT(error({.seed = 1, .validation_split = 0.5, .subset = "both"}),
             ContainsSubstring("image_datasets_from_directory"));
  CHECK_THAT(error({.seed = 1, .validation_split = 0.5, .subset = "test"}), ContainsSubstring("subset = \"test\""));
  CHECK_THAT(error({.seed = 1, .validation_split = 0.1, .subset = "validation", .verbose = false}),
             ContainsSubstring("a subset without images"));
  CHECK_THAT(error({.interpolation = "bicubic"}), ContainsSubstring("interpolation = \"bicubic\""));
  CHECK_THAT(error({.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}),
             ContainsSubstring("at most one of them"));
  CHECK_THAT(error({.data_format = "HWC"}), ContainsSubstring("data_format = \"HWC\""));
}

}  // namespace etude
