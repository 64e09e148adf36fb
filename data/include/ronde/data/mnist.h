/// MNIST, and data in its form: 28 x 28 grey images of ten classes.
///
///     Mnist mnist = load_mnist();                       // or load_mnist({.directory = "/data"})
///     model.fit(mnist.train, {.batch_size = 128});      // inputs (n, 28, 28, 1) in [0, 1], labels (n)
///     mnist.description();    // "MNIST, 60,000 + 10,000 images from /home/ada/.cache/ronde/mnist"
///
/// Where it looks, first hit wins: DIR, then DIR/mnist, where DIR is `directory` or, when that is empty,
/// `default_data_directory()`. In each of them: the four files {train,t10k}-{images-idx3,labels-idx1}-ubyte,
/// also written train-images.idx3-ubyte, plain or with .gz; else Keras' mnist.npz. Without `directory` and
/// `$RONDE_DATA`, Keras' own ~/.keras/datasets comes last.
///
/// Files are checked for structure and counts, not for being the original: a set whose SHA-256 is not known
/// is loaded, and `description()` says so. Fashion-MNIST is recognised and gets its class names.
///
/// Errors: IoError (exit status 74) when there is no complete set or it cannot be read; it says where it
/// looked and what to do. InputError (65) when a file is damaged or does not fit the others.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/data/in_memory_dataset.h>

namespace ronde::inline v0 {

struct MnistOptions {
  std::string directory = {};  ///< empty: the default data directory
};

struct RONDE_API Mnist {
  InMemoryDataset train;
  InMemoryDataset test;
  std::string name;    ///< "MNIST", "Fashion-MNIST", or empty when its SHA-256 is not known
  std::string source;  ///< the directory of the four files, or the path of mnist.npz

  /// One line for a banner.
  std::string description() const;
};

RONDE_API Mnist load_mnist(const MnistOptions& options = {});
/// Whether load_mnist would find a complete set; its files are not opened.
RONDE_API bool has_mnist(const MnistOptions& options = {});

}  // namespace ronde::inline v0
