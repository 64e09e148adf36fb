#include <ronde/data/mnist.h>

#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/data/idx.h>
#include <ronde/data/npz.h>

#include "files/input_file.h"
#include "mnist/find_mnist.h"
#include "mnist/mnist_files.h"

namespace ronde::inline v0 {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kSide = 28, kClasses = 10;

using Parts = std::array<Tensor, 4>;

Parts read_parts(const MnistSource& source) {
  if (source.is_npz) {
    auto arrays = read_npz(source.path, kMaxBytes);
    const auto take = [&](const char* name) {
      const auto array = arrays.find(name);
      require<InputError>(array != arrays.end(), "data: ", source.path, ": holds no array ", name,
                          ", expected x_train, y_train, x_test and y_test");
      return array->second;
    };
    return {take("x_train"), take("y_train"), take("x_test"), take("y_test")};
  }
  // The training images take nearly all the time; the rest comes beside them.
  const auto read = [&](MnistPart part) { return read_idx(source.files[part], kMaxBytes); };
  auto images = std::async(std::launch::async, read, kTrainImages);
  Parts parts{Tensor(), read(kTrainLabels), read(kTestImages), read(kTestLabels)};
  parts[kTrainImages] = images.get();
  return parts;
}

void check_images(const Tensor& images, const std::string& path) {
  const Shape& shape = images.shape();
  const bool fits =
      images.dtype() == DType::u8 && shape.rank() == 3 && shape[1] == kSide && shape[2] == kSide;
  require<InputError>(fits, "data: ", path, ": holds ", images, ", expected images u8 (n, 28, 28)");
  require<InputError>(shape[0] > 0, "data: ", path, ": holds no images");
}

/// Labels as u8: an archive of NumPy's may hold them as wider integers.
Tensor check_labels(const Tensor& labels, const std::string& path, std::int64_t images) {
  require<InputError>(labels.rank() == 1 && !is_floating(labels.dtype()), "data: ", path, ": holds ", labels,
                      ", expected labels u8 (n)");
  require<InputError>(labels.count() == images, "data: ", path, ": ", counted(labels.count(), "label"),
                      " for ", counted(images, "image"));
  const std::vector<std::int64_t> values = labels.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    require<InputError>(values[i] >= 0 && values[i] < kClasses, "data: ", path, ": label ", values[i],
                        " of image ", grouped(i), ", expected 0 to 9");
  return labels.to(DType::u8);
}

/// nullptr when the content is not known.
const KnownMnist* recognise(const Parts& parts) {
  auto images = std::async(std::launch::async, [&] { return idx_sha256(parts[kTrainImages]); });
  std::array<std::string, 4> hashes;
  for (const MnistPart part : {kTrainLabels, kTestImages, kTestLabels})
    hashes[part] = idx_sha256(parts[part]);
  hashes[kTrainImages] = images.get();
  for (const KnownMnist& set : known_mnist_sets())
    if (std::equal(hashes.begin(), hashes.end(), set.sha256.begin())) return &set;
  return nullptr;
}

InMemoryDataset make_dataset(const Tensor& images, const Tensor& labels, const KnownMnist& set) {
  return {images.reshape({images.size(0), kSide, kSide, 1}),
          labels,
          {.scale = 1.0 / 255, .class_names = set.class_names}};
}

}  // namespace

std::string Mnist::description() const {
  return cat(name.empty() ? "unknown data in MNIST's form" : name, ", ", grouped(train.size()), " + ",
             counted(test.size(), "image"), " from ", source,
             name.empty() ? " (its SHA-256 is that of no known set)" : "");
}

bool has_mnist(const MnistOptions& options) {
  return find_mnist(options.directory).has_value();
}

Mnist load_mnist(const MnistOptions& options) {
  const std::optional<MnistSource> source = find_mnist(options.directory);
  if (!source) throw IoError(mnist_not_found(options.directory));
  Parts parts = read_parts(*source);
  for (const auto& [images, labels] :
       {std::pair{kTrainImages, kTrainLabels}, std::pair{kTestImages, kTestLabels}}) {
    check_images(parts[images], source->files[images]);
    parts[labels] = check_labels(parts[labels], source->files[labels], parts[images].size(0));
  }
  const KnownMnist* known = recognise(parts);
  const KnownMnist& set = known ? *known : known_mnist_sets().front();
  return {.train = make_dataset(parts[kTrainImages], parts[kTrainLabels], set),
          .test = make_dataset(parts[kTestImages], parts[kTestLabels], set),
          .name = known ? known->name : "",
          .source = source->path};
}

}  // namespace ronde::inline v0
