/// CIFAR-10, and data in its form: 32 x 32 colour images of ten classes, Krizhevsky's binary version.
///
///     Cifar10 cifar = load_cifar10();                   // or load_cifar10({.directory = "/data"})
///     model.fit(cifar.train, {.batch_size = 32});       // inputs (n, 32, 32, 3) in [0, 1], labels (n)
///     cifar.description();    // "CIFAR-10, 50,000 + 10,000 images from /data/cifar-10-binary.tar.gz"
///
///     Cifar10OnDisk same = open_cifar10();              // 184 MB of memory less
///     model.fit(*same.train, {.batch_size = 32});       // the same bits
///
/// Where it looks, first hit wins: DIR, DIR/cifar-10-batches-bin, DIR/cifar10,
/// DIR/cifar10/cifar-10-batches-bin, where DIR is `directory` or, when that is empty,
/// `default_data_directory()`. In each of them: the six files data_batch_{1..5}.bin and test_batch.bin; else
/// cifar-10-binary.tar.gz, which is read as it is. `directory` may also be the path of such an archive. Class
/// names are those of batches.meta.txt where it is there.
///
/// Files are checked for structure (records of 3,073 bytes, labels 0 to 9, as many images in each of the six
/// files), not for being the original: a set whose SHA-256 is not that of the published one is loaded, and
/// `description()` says so.
///
/// Errors: IoError (exit status 74) when there is no complete set or it cannot be read; it says where it
/// looked and what to do. InputError (65) when a file is damaged or does not fit the others.
#pragma once

#include <memory>
#include <string>

#include <ronde/data/in_memory_dataset.h>

namespace ronde::inline v0 {

struct Cifar10Options {
  std::string directory = {};  ///< empty: the default data directory
};

struct RONDE_API Cifar10 {
  InMemoryDataset train;
  InMemoryDataset test;
  std::string name;    ///< "CIFAR-10", or empty when its SHA-256 is not that of the published files
  std::string source;  ///< the directory of the six files, or the path of the archive

  /// One line for a banner.
  std::string description() const;
};

RONDE_API Cifar10 load_cifar10(const Cifar10Options& options = {});

/// The same samples, of which the pictures stay in the six .bin files and are read when they are asked for.
/// What the system keeps of these files in memory it keeps once for all processes, and only while there is
/// room. The files must stay as they are. Those of an archive come into memory, as by load_cifar10.
struct RONDE_API Cifar10OnDisk {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::string name;    ///< as in Cifar10
  std::string source;  ///< likewise

  /// One line for a banner.
  std::string description() const;
};

/// Reads and checks all files, as load_cifar10 does.
RONDE_API Cifar10OnDisk open_cifar10(const Cifar10Options& options = {});
/// Whether load_cifar10 would find a complete set; its files are not opened.
RONDE_API bool has_cifar10(const Cifar10Options& options = {});

}  // namespace ronde::inline v0
