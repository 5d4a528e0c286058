#include "etude/data/image_files.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/data/detail/image_formats.hpp"
#include "etude/data/detail/resize_image.hpp"
#include "etude/data/images.hpp"

namespace etude::utils {
namespace {

constexpr const char* where = "utils.image_dataset_from_directory";

/// A function that makes the elements of a dataset from the numbers of its files.
struct Source {
  std::vector<std::string> paths;
  std::shared_ptr<Vfs> files;
  ImageReader read;
  std::string color_mode;
  images::Resize resize;

  const std::string& path_of(const Batch& element) const {
    return paths[static_cast<std::size_t>(element.x.front().item())];
  }
  Batch load(Batch element) const {
    const std::string& path = path_of(element);
    element.x = {images::resized(decode_image(files->read(path), color_mode, path), resize)};
    return element;
  }
  /// An element with those pixels.
  Batch with_pixels(Batch element, const Tensor& pixels) const {
    const std::string& path = path_of(element);
    element.x = {images::resized(images::with_channels(pixels, images::channels_of(color_mode, where), path), resize)};
    return element;
  }
};

images::Resize resize_in(const ImageDatasetOptions& o) {
  check(!o.crop_to_aspect_ratio || !o.pad_to_aspect_ratio, ErrorKind::value, where,
        "crop_to_aspect_ratio and pad_to_aspect_ratio - expected at most one of them - set one to false.");
  check(o.data_format == "channels_first" || o.data_format == "channels_last", ErrorKind::value, where,
        "data_format = \"", o.data_format, "\" - expected \"channels_last\" or \"channels_first\" - choose one.");
  const auto fit = o.crop_to_aspect_ratio  ? images::Fit::crop
                   : o.pad_to_aspect_ratio ? images::Fit::pad
                                           : images::Fit::stretch;
  images::Resize resize = images::resize_of(o.image_size, "image_size", o.interpolation, fit, where);
  resize.channels_first = o.data_format == "channels_first";
  return resize;
}

/// Adds the images to a dataset of numbers of files: at once, or when they were awaited. The module for JavaScript has
/// only the second.
using Load = Dataset (*)(const Dataset& numbers, const std::shared_ptr<const Source>& source);

Dataset load_now(const Dataset& numbers, const std::shared_ptr<const Source>& source) {
  return numbers.map([source](Batch element) { return source->load(std::move(element)); });
}
Dataset load_later(const Dataset& numbers, const std::shared_ptr<const Source>& source) {
  return numbers.map([source](Batch element) -> Task<Batch> {
    const std::shared_ptr<const Source> kept = source;  // while it waits
    const Tensor pixels = co_await kept->read(kept->path_of(element));
    co_return kept->with_pixels(std::move(element), pixels);
  });
}

/// Another seed than that of the order of the files, which would be applied twice.
std::uint64_t shuffle_seed(const ImageDatasetOptions& o) {
  return (o.seed ? static_cast<std::uint64_t>(*o.seed) : random_seed()) ^ 0x9e3779b97f4a7c15;
}

/// The dataset of these files. `shared`: a source without paths.
ImageDataset dataset_of(LabelledFiles files, const ImageDatasetOptions& o, bool shuffle, const Source& shared,
                        Load load) {
  const std::int64_t count = std::ssize(files.paths);
  check(count > 0, ErrorKind::data, where,
        "a subset without images - expected some - choose another validation_split.");
  const auto source = std::make_shared<Source>(shared);
  source->paths = files.paths;
  Tensor numbers({count}, DType::int32);
  std::iota(numbers.data<std::int32_t>().begin(), numbers.data<std::int32_t>().end(), 0);
  Batch rows{{numbers}, {}, {}};
  if (o.label_mode) rows.y = {label_tensor(files, *o.label_mode)};
  Dataset dataset = Dataset::from_tensor_slices(std::move(rows)).of_files();
  // Before images are read, so that the buffer holds all of their numbers.
  if (shuffle) dataset = dataset.shuffle(count, {.seed = shuffle_seed(o)});
  dataset = load(dataset, source);
  if (o.batch_size) dataset = dataset.batch(*o.batch_size);
  return {dataset.prefetch(1), std::move(files.class_names), std::move(files.paths)};
}

void print_counts(const LabelledFiles& files, bool labelled) {
  std::string text = "Found " + std::to_string(files.paths.size()) + " files";
  if (labelled) text += " belonging to " + std::to_string(files.class_names.size()) + " classes";
  print_message({}, text + '.');
}

std::vector<ImageDataset> datasets_of(const std::string& directory, const ImageDatasetOptions& o,
                                      const ImageReader& read, Load load) {
  const LabelledFilesOptions shared{.labels = o.labels,
                                    .label_mode = o.label_mode,
                                    .class_names = o.class_names,
                                    .shuffle = o.shuffle,
                                    .seed = o.seed,
                                    .validation_split = o.validation_split,
                                    .subset = o.subset,
                                    .follow_links = o.follow_links};
  check_labelled_files(shared, where);
  check(!o.subset || *o.subset == "training" || *o.subset == "validation" || *o.subset == "both", ErrorKind::value,
        where, "subset = \"", o.subset.value_or(""),
        "\" - expected \"training\", \"validation\" or \"both\" - choose one.");
  static_cast<void>(images::channels_of(o.color_mode, where));
  const Source source{{}, vfs_or_host(nullptr, where), read, o.color_mode, resize_in(o)};
  constexpr std::string_view endings[] = {".bmp", ".gif", ".jpeg", ".jpg", ".png"};
  const LabelledFiles all = labelled_files(*source.files, directory, endings, shared, where);
  if (o.verbose) print_counts(all, o.label_mode.has_value());
  if (!o.subset) return {dataset_of(all, o, o.shuffle, source, load)};
  std::vector<ImageDataset> parts;
  for (const char* subset : {"training", "validation"}) {
    if (*o.subset != "both" && *o.subset != subset) continue;
    LabelledFiles part = part_of(all, *o.validation_split, subset);
    if (o.verbose) print_message({}, "Using " + std::to_string(part.paths.size()) + " files for " + subset + '.');
    parts.push_back(dataset_of(std::move(part), o, o.shuffle && parts.empty(), source, load));
  }
  return parts;
}

}  // namespace

ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options) {
  check(options.subset != "both", ErrorKind::value, where,
        "subset = \"both\" - expected one dataset - call image_datasets_from_directory, which returns two.");
  return datasets_of(directory, options, nullptr, load_now).front();
}

std::pair<ImageDataset, ImageDataset> image_datasets_from_directory(const std::string& directory,
                                                                    ImageDatasetOptions options) {
  check(!options.subset || *options.subset == "both", ErrorKind::value, where, "subset = \"",
        options.subset.value_or(""), "\" - expected \"both\" - call image_dataset_from_directory for one of them.");
  options.subset = "both";
  std::vector<ImageDataset> both = datasets_of(directory, options, nullptr, load_now);
  return {std::move(both.front()), std::move(both.back())};
}

std::vector<ImageDataset> image_datasets(const std::string& directory, const ImageDatasetOptions& options,
                                         const ImageReader& read) {
  check(read != nullptr, ErrorKind::value, where, "no function that reads images - expected one - pass it.");
  return datasets_of(directory, options, read, load_later);
}

}  // namespace etude::utils
