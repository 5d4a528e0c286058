#include "etude/data/cifar.hpp"

#include <cstdint>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {
namespace {

constexpr std::size_t channels = 3, pixels = 32 * 32;

/// A record is its labels, and then the image, channel by channel.
struct Form {
  std::size_t labels;  ///< Bytes before an image.
  std::size_t label;   ///< The byte that counts.
  unsigned classes;    ///< How many labels there are.
  std::size_t record() const { return labels + channels * pixels; }
};

constexpr Form cifar10{.labels = 1, .label = 0, .classes = 10};

Form cifar100(std::string_view label_mode) {
  check(label_mode == "fine" || label_mode == "coarse", ErrorKind::value, "CIFAR-100", "label_mode = \"", label_mode,
        "\" - expected \"fine\" or \"coarse\" - choose one.");
  return label_mode == "fine" ? Form{.labels = 2, .label = 1, .classes = 100}
                              : Form{.labels = 2, .label = 0, .classes = 20};
}

std::int64_t images_in(std::span<const std::byte> bytes, const Form& form, std::string_view where) {
  check(bytes.size() % form.record() == 0, ErrorKind::data, where, bytes.size(), " bytes - expected a multiple of ",
        form.record(), ", the size of an image with its labels - check that this is the binary version, unpacked.");
  return static_cast<std::int64_t>(bytes.size() / form.record());
}

Batch images_of(std::int64_t images) {
  return {{Tensor::uninitialized({images, 32, 32, static_cast<std::int64_t>(channels)}, DType::uint8)},
          {Tensor::uninitialized({images, 1}, DType::uint8)},
          {}};
}

/// Writes the images of `bytes` to those from number `first` on.
void fill(Batch& images, std::int64_t first, std::span<const std::byte> bytes, const Form& form,
          std::string_view where) {
  std::byte* x = images.x.front().raw() + static_cast<std::size_t>(first) * channels * pixels;
  std::byte* y = images.y.front().raw() + first;
  for (; !bytes.empty(); bytes = bytes.subspan(form.record())) {
    const auto label = std::to_integer<unsigned>(bytes[form.label]);
    check(label < form.classes, ErrorKind::data, where, "the label ", label, " - expected less than ", form.classes,
          " - check that this is the right file.");
    *y++ = bytes[form.label];
    for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      for (std::size_t channel = 0; channel < channels; ++channel) *x++ = bytes[form.labels + channel * pixels + pixel];
  }
}

Batch parsed(std::span<const std::byte> bytes, const Form& form, std::string_view where) {
  Batch images = images_of(images_in(bytes, form, where));
  fill(images, 0, bytes, form, where);
  return images;
}

Batch read(const std::vector<std::string>& paths, const Form& form) {
  std::vector<std::vector<std::byte>> files;
  std::int64_t count = 0;
  for (const std::string& path : paths) count += images_in(files.emplace_back(read_file(path)), form, path);
  Batch images = images_of(count);
  count = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    fill(images, count, files[i], form, paths[i]);
    count += images_in(files[i], form, paths[i]);
  }
  return images;
}

}  // namespace

Batch read_cifar10(const std::vector<std::string>& paths) { return read(paths, cifar10); }
Batch parse_cifar10(std::span<const std::byte> bytes, std::string_view where) { return parsed(bytes, cifar10, where); }

Batch read_cifar100(const std::vector<std::string>& paths, std::string_view label_mode) {
  return read(paths, cifar100(label_mode));
}
Batch parse_cifar100(std::span<const std::byte> bytes, std::string_view label_mode, std::string_view where) {
  return parsed(bytes, cifar100(label_mode), where);
}

}  // namespace etude
