#include "cifar10/read_cifar10.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include <ronde/core/counted.h>
#include <ronde/core/sha256.h>

#include "files/tar.h"

namespace ronde::inline v0 {
namespace {

constexpr std::uint64_t kUsualCount = 10'000;
constexpr std::uint64_t kMaxFileBytes = 256 << 20, kMaxNamesBytes = 64 << 10;
constexpr std::size_t kCifar10Classes = 10;

/// Where the bytes of a file come from, and whose complaints are made.
struct FileBytes {
  const InputFile& file;
  std::string label;  // put before each complaint: "data_batch_1.bin: "
  std::uint64_t size;
  std::function<void(void*, std::size_t)> read;

  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    file.expect(ok, label, pieces...);
  }
};

/// Number of records of a file.
std::uint64_t count_records(const FileBytes& bytes) {
  bytes.expect(bytes.size > 0 && bytes.size % kCifar10Record == 0, "holds ", counted(bytes.size, "byte"),
               ", expected images of ", grouped(kCifar10Record), " bytes each, usually ",
               grouped(kUsualCount * kCifar10Record));
  return bytes.size / kCifar10Record;
}

Cifar10Images allocate(std::uint64_t count, Cifar10Pictures pictures) {
  const auto n = static_cast<std::int64_t>(count);
  const TensorOptions bytes{.dtype = DType::u8};
  const bool in_memory = pictures == Cifar10Pictures::in_memory;
  return {in_memory ? Tensor::empty({n, 32, 32, 3}, bytes) : Tensor(), Tensor::empty({n}, bytes)};
}

/// The set while its files are read; each file has its own place in it.
class Content {
 public:
  explicit Content(Cifar10Pictures pictures) : pictures_(pictures) {}
  /// The first file that is seen says how many images each must hold.
  void expect_count(const FileBytes& bytes) {
    const std::uint64_t count = count_records(bytes);
    if (count_ == 0) {
      count_ = count;
      content_.train = allocate(kCifar10TrainFiles * count, pictures_);
      content_.test = allocate(count, pictures_);
    }
    bytes.expect(count == count_, "holds ", counted(count, "image"), ", expected ", grouped(count_),
                 " as in the others");
  }

  /// Fills the place of a file. Different files may be filled at the same time.
  void fill(std::size_t file, const FileBytes& bytes) {
    const Cifar10Images& part = file < kCifar10TrainFiles ? content_.train : content_.test;
    const std::uint64_t first = file < kCifar10TrainFiles ? file * count_ : 0;
    std::uint8_t* labels = part.labels.data<std::uint8_t>() + first;
    constexpr std::size_t kPixels = 3 * kCifar10Plane;
    std::uint8_t* pixels =
        part.images.defined() ? part.images.data<std::uint8_t>() + first * kPixels : nullptr;
    constexpr std::uint64_t kAtOnce = 64;
    std::vector<std::uint8_t> records(kAtOnce * kCifar10Record);
    Sha256 hash;
    for (std::uint64_t image = 0; image < count_;) {
      const std::uint64_t end = std::min(image + kAtOnce, count_);
      const std::size_t read = (end - image) * kCifar10Record;
      bytes.read(records.data(), read);
      hash.update(records.data(), read);
      for (const std::uint8_t* record = records.data(); image < end; ++image, record += kCifar10Record) {
        bytes.expect(*record < kCifar10Classes, "label ", int{*record}, " of image ", grouped(image),
                     ", expected 0 to 9");
        labels[image] = *record;
        if (pixels) interleave_planes(record + 1, pixels + image * kPixels);
      }
    }
    content_.sha256[file] = hash.hex();
  }

  void read_names(const FileBytes& bytes) {
    bytes.expect(bytes.size <= kMaxNamesBytes, "holds ", counted(bytes.size, "byte"),
                 ", expected ten names of classes");
    std::string text(bytes.size, '\0');
    bytes.read(text.data(), text.size());
    std::vector<std::string> names{""};
    for (const char c : text) {
      if (c != '\n' && c != '\r')
        names.back() += c;
      else if (!names.back().empty())
        names.emplace_back();
    }
    if (names.back().empty()) names.pop_back();
    bytes.expect(names.size() == kCifar10Classes, "holds ", names.size(), " names of classes, expected ",
                 kCifar10Classes);
    content_.class_names = names;
  }

  Cifar10Content take(std::vector<std::shared_ptr<const InputFile>> files = {}) {
    content_.files = std::move(files);
    if (content_.class_names.empty())
      content_.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                              "dog",      "frog",       "horse", "ship", "truck"};
    return std::move(content_);
  }

 private:
  Cifar10Pictures pictures_;
  std::uint64_t count_ = 0;  // images of each file
  Cifar10Content content_;
};

/// A plain file in a directory.
class PlainFile {
 public:
  explicit PlainFile(const std::string& path) : file_(std::make_shared<InputFile>(path)), reader_(*file_) {}
  FileBytes bytes() {
    return {*file_, "", file_->size(), [this](void* out, std::size_t bytes) { reader_.read(out, bytes); }};
  }
  std::shared_ptr<const InputFile> file() const { return file_; }

 private:
  std::shared_ptr<const InputFile> file_;
  ByteReader reader_;
};

Cifar10Content read_directory(const std::string& directory, Cifar10Pictures pictures) {
  Content content(pictures);
  std::vector<std::unique_ptr<PlainFile>> files;
  for (const char* name : kCifar10Files) {
    files.push_back(std::make_unique<PlainFile>(cat(directory, "/", name)));
    content.expect_count(files.back()->bytes());
  }
  if (const std::string names = cat(directory, "/", kCifar10Names); std::filesystem::exists(names))
    content.read_names(PlainFile(names).bytes());
  std::vector<std::future<void>> readers;
  for (std::size_t file = 0; file < files.size(); ++file)
    readers.push_back(
        std::async(std::launch::async, [&, file] { content.fill(file, files[file]->bytes()); }));
  for (std::future<void>& reader : readers) reader.get();
  std::vector<std::shared_ptr<const InputFile>> open;
  for (const auto& file : files) open.push_back(file->file());
  return content.take(std::move(open));
}

Cifar10Content read_archive(const std::string& path) {
  const InputFile file(path);
  ByteReader reader(file);
  TarReader tar(reader);
  Content content(Cifar10Pictures::in_memory);
  std::array<bool, kCifar10Files.size()> seen{};
  while (const auto entry = tar.next()) {
    const FileBytes bytes{file, entry->name + ": ", entry->size,
                          [&](void* out, std::size_t count) { tar.read(out, count); }};
    if (entry->name == kCifar10Names) content.read_names(bytes);
    const auto known = std::find(kCifar10Files.begin(), kCifar10Files.end(), entry->name);
    if (known == kCifar10Files.end()) continue;
    const auto number = static_cast<std::size_t>(known - kCifar10Files.begin());
    bytes.expect(!seen[number], "is there twice");
    bytes.expect(bytes.size <= kMaxFileBytes, "holds ", counted(bytes.size, "byte"), ", expected at most ",
                 grouped(kMaxFileBytes));
    content.expect_count(bytes);
    content.fill(number, bytes);
    seen[number] = true;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) file.expect(seen[i], "holds no ", kCifar10Files[i]);
  return content.take();
}

}  // namespace

Cifar10Content read_cifar10(const Cifar10Source& source, Cifar10Pictures pictures) {
  return source.is_archive ? read_archive(source.path) : read_directory(source.path, pictures);
}

void interleave_planes(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < kCifar10Plane; ++i)
    for (std::size_t c = 0; c < 3; ++c) *pixels++ = planes[c * kCifar10Plane + i];
}

}  // namespace ronde::inline v0
