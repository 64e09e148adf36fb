#include <ronde/data/cifar10.h>

#include <algorithm>
#include <span>

#include <ronde/core/counted.h>

#include "cifar10/cifar10_file_dataset.h"
#include "cifar10/read_cifar10.h"

namespace ronde::inline v0 {
namespace {

/// Of the six files in the archive whose SHA-256 download_cifar10 pins.
constexpr std::array<const char*, 6> kPublished{
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"};

InMemoryDataset make_dataset(const Cifar10Images& part, const std::vector<std::string>& class_names) {
  return {part.images, part.labels, {.scale = 1.0 / 255, .class_names = class_names}};
}

Cifar10Content find_and_read(const Cifar10Options& options, Cifar10Pictures pictures, std::string& path) {
  const std::optional<Cifar10Source> source = find_cifar10(options.directory);
  if (!source) throw IoError(cifar10_not_found(options.directory));
  path = source->path;
  return read_cifar10(*source, pictures);
}

std::string name_of(const Cifar10Content& content) {
  return std::equal(kPublished.begin(), kPublished.end(), content.sha256.begin()) ? "CIFAR-10" : "";
}

using OpenFiles = std::span<const std::shared_ptr<const InputFile>>;

std::shared_ptr<const Dataset> share_part(const Cifar10Images& part, OpenFiles files,
                                          const std::vector<std::string>& class_names) {
  if (part.images.defined()) return std::make_shared<InMemoryDataset>(make_dataset(part, class_names));
  return std::make_shared<Cifar10FileDataset>(Cifar10FileDataset::Files(files.begin(), files.end()),
                                              part.labels, class_names);
}

std::string describe(const std::string& name, const std::string& source, const Dataset& train,
                     const Dataset& test) {
  return cat(name.empty() ? "unknown data in CIFAR-10's form" : name, ", ", grouped(train.size()), " + ",
             counted(test.size(), "image"), " from ", source,
             name.empty() ? " (its SHA-256 is not that of the published files)" : "");
}

}  // namespace

std::string Cifar10::description() const {
  return describe(name, source, train, test);
}

std::string Cifar10OnDisk::description() const {
  return describe(name, source, *train, *test);
}

bool has_cifar10(const Cifar10Options& options) {
  return find_cifar10(options.directory).has_value();
}

Cifar10 load_cifar10(const Cifar10Options& options) {
  std::string source;
  const Cifar10Content content = find_and_read(options, Cifar10Pictures::in_memory, source);
  return {.train = make_dataset(content.train, content.class_names),
          .test = make_dataset(content.test, content.class_names),
          .name = name_of(content),
          .source = source};
}

Cifar10OnDisk open_cifar10(const Cifar10Options& options) {
  std::string source;
  const Cifar10Content content = find_and_read(options, Cifar10Pictures::in_files, source);
  const OpenFiles files(content.files);
  const std::size_t train_files = std::min(kCifar10TrainFiles, files.size());
  return {.train = share_part(content.train, files.first(train_files), content.class_names),
          .test = share_part(content.test, files.subspan(train_files), content.class_names),
          .name = name_of(content),
          .source = source};
}

}  // namespace ronde::inline v0
