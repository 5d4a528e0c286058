#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/base/integers.hpp"
#include "etude/base/task.hpp"
#include "etude/classes/field.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/labelled_files.hpp"

namespace etude::utils {

/// Options of image_dataset_from_directory.
struct ImageDatasetOptions {
  /// The labels of the files, in the order of their paths; their classes are named by their numbers. Default: those of
  /// the folders.
  std::vector<std::int64_t> labels = {};
  /// The form of labels: "int", "binary", "categorical", or none.
  std::optional<std::string> label_mode = "int";
  /// The folders that are classes, in the order of their labels. Default: all, in alphabetical order.
  std::vector<std::string> class_names = {};
  /// "rgb", "rgba" or "grayscale": 3, 4 or 1 channels.
  std::string color_mode = "rgb";
  /// The images of a batch. None: the elements are single images.
  std::optional<std::int64_t> batch_size = 32;
  /// The height and the width of all images; one number is both.
  Integers image_size = 256;
  /// Whether the images are in a random order, another one at each iteration. Otherwise in that of their paths.
  bool shuffle = true;
  /// The seed of the order.
  std::optional<std::int64_t> seed = {};
  /// The fraction of the images, the last ones, that is for validation.
  std::optional<double> validation_split = {};
  /// "training" or "validation", with validation_split.
  std::optional<std::string> subset = {};
  /// "nearest" or "bilinear".
  std::string interpolation = "bilinear";
  /// Whether links to folders inside the classes are followed.
  bool follow_links = false;
  /// Whether margins are cut off that do not fit the aspect ratio of image_size.
  bool crop_to_aspect_ratio = false;
  /// Whether margins of zeros are added where the aspect ratio differs.
  bool pad_to_aspect_ratio = false;
  /// "channels_last": [height, width, channels]; or "channels_first".
  std::string data_format = image_data_format();
  /// Whether the numbers of files and of classes are printed.
  bool verbose = true;

  template <class O = ImageDatasetOptions> static constexpr auto fields() {
    return option_rows(
        class_fields<O>(), option<&O::color_mode>("\"rgb\", \"rgba\" or \"grayscale\"."),
        option<&O::batch_size>("Images of a batch; null: the elements are single images. Default: 32."),
        option<&O::image_size>("Height and width of all images, in pixels; one number is both."), order_fields<O>(),
        option<&O::subset>("\"training\", \"validation\" or \"both\", with validation_split."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."), link_fields<O>(),
        option<&O::crop_to_aspect_ratio>("Whether margins are cut off that do not fit the new aspect ratio."),
        option<&O::pad_to_aspect_ratio>("Whether zeros are added where the old aspect ratio differs."),
        option<&O::data_format>("\"channels_last\", [height, width, channels], or \"channels_first\"."),
        option<&O::verbose>("Whether the numbers of files and of classes are printed."));
  }
};

/// The images of files, with labels: x is float32 [batch, height, width, channels], from 0 to 255, and y int32 [batch],
/// or float32 [batch, 1] or [batch, classes] by label_mode. A file is read when its element is made.
struct ImageDataset : Dataset {
  /// The names of the classes, by their numbers; none without labels.
  std::vector<std::string> class_names;
  /// The files: in the order of the elements, unless they are shuffled.
  std::vector<std::string> file_paths;
};

/// The images below a folder that has a folder for each class; without labels, all below the folder: files .png, .jpg
/// and .jpeg, and also .bmp and .gif, which decode_image rejects. They are resized as by the layer Resizing. The order
/// that `seed` gives differs from Keras's. Throws Error(value) for options that contradict each other, for class_names
/// without a folder and for labels that do not match the files, Error(data) if there are no files; an iteration throws
/// what decode_image throws, with the path of the file. Source: keras/src/utils/image_dataset_utils.py.
///
///     const auto train = utils::image_dataset_from_directory("photos", {.image_size = {64, 64}, .seed = 1,
///                                                                       .validation_split = 0.2, .subset =
///                                                                       "training"});
///     model.fit(train, {.epochs = 5});
ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options = {});
/// The images for training, and those for validation, which are not shuffled: the subset "both" of Keras. `options` has
/// a validation_split, and no subset or "both".
std::pair<ImageDataset, ImageDataset> image_datasets_from_directory(const std::string& directory,
                                                                    ImageDatasetOptions options);

/// Decodes the file at a path, possibly later: uint8 [height, width, channels] with 1 to 4 channels, which are gray,
/// gray and alpha, RGB, or RGBA.
using ImageReader = std::function<Task<Tensor>(std::string path)>;
/// The same for other formats, and for hosts that decode by other means: one dataset, or two for the subset "both".
/// Throws Error(value) without `read`.
std::vector<ImageDataset> image_datasets(const std::string& directory, const ImageDatasetOptions& options,
                                         const ImageReader& read);

}  // namespace etude::utils
