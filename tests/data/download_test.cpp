#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include <ronde/core/error.h>
#include <ronde/data/download.h>

#include <ronde/core/sha256.h>
#include "data/environment.h"
#include "data/http_server.h"
#include "data/testing.h"
#include "files/download_file.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

std::string sha256(const Bytes& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

class Download : public ::testing::Test {
 protected:
  DownloadOptions from(std::vector<std::string> mirrors) const {
    return {.mirrors = std::move(mirrors), .connect_timeout_s = 2, .stall_timeout_s = 1};
  }
  void fetch(const DownloadOptions& options) const {
    download_file({"file.gz", sha256(content_)}, dir_.path(), options);
  }
  /// The directory's only file must be the whole download.
  void expect_arrived() const {
    EXPECT_EQ(read_bytes(dir_ / "file.gz"), file_);
    EXPECT_EQ(files_left(), 1);
  }
  int files_left() const {
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path()))
      count += entry.is_regular_file();
    return count;
  }

  SetEnv no_proxy_{"NO_PROXY", "*"};
  TempDir dir_;
  const Bytes content_ = idx({100, 28, 28}, digit_images(100, 5));
  const Bytes file_ = gzip(content_);
  HttpServer good_{[this](const std::string& path) {
    return path.ends_with("/file.gz") ? HttpAnswer{.body = file_}
                                      : HttpAnswer{.status = "404 Not Found", .body = "no"};
  }};
};

TEST_F(Download, Arrives) {
  DownloadOptions options = from({good_.url() + "/somewhere/"});
  DownloadProgress last;
  options.progress = [&](const DownloadProgress& progress) {
    EXPECT_GT(progress.bytes, last.bytes);
    last = progress;
  };
  fetch(options);
  expect_arrived();
  EXPECT_EQ(last.file, "file.gz");
  EXPECT_EQ(last.bytes, static_cast<std::int64_t>(file_.size()));
  EXPECT_EQ(last.total, static_cast<std::int64_t>(file_.size()));
}

TEST_F(Download, ArrivesFromAFileUrl) {
  const TempDir mirror;
  write_bytes(mirror / "file.gz", file_);
  fetch(from({"file://" + mirror.path()}));
  expect_arrived();
}

// Each of these mirrors fails in its own way; the next one is asked, and what it sends replaces what came
// before.
TEST_F(Download, GoesOnToTheNextMirror) {
  const auto bad = [&](HttpAnswer answer) { return [answer](const std::string&) { return answer; }; };
  const HttpServer truncated(bad({.body = file_.substr(0, 500), .claimed = file_.size()}));
  const HttpServer shorter(bad({.body = file_.substr(0, 500)}));
  const HttpServer other(bad({.body = gzip("other content")}));
  const HttpServer longer(bad({.body = file_ + file_}));
  const HttpServer missing(bad({.status = "404 Not Found", .body = "no such file"}));
  const HttpServer stalled(bad({.body = file_.substr(0, 500), .claimed = file_.size(), .stall = true}));
  const HttpServer elsewhere(bad({.status = "302 Found\r\nLocation: file:///etc/passwd"}));
  fetch(from({truncated.url(), shorter.url(), other.url(), longer.url(), missing.url(), stalled.url(),
              elsewhere.url(), "http://127.0.0.1:1", "gopher://127.0.0.1", good_.url()}));
  expect_arrived();
  EXPECT_EQ(good_.requests(), 1);
}

TEST_F(Download, OfOtherContentIsRefusedAndNotKept) {
  const HttpServer other([](const std::string&) { return HttpAnswer{.body = gzip("other content")}; });
  expect_error<InputError>([&] { fetch(from({other.url()})); },
                           {"file.gz", other.url(), sha256("other content"), sha256(content_), "not kept"});
  EXPECT_EQ(files_left(), 0);
}

TEST_F(Download, ThatIsTruncatedIsNotKept) {
  const HttpServer cut(
      [this](const std::string&) { return HttpAnswer{.body = file_.substr(0, file_.size() - 9)}; });
  expect_error<InputError>([&] { fetch(from({cut.url()})); }, {"file.gz", "damaged", sha256(content_)});
  const HttpServer dropped([this](const std::string&) {
    return HttpAnswer{.body = file_.substr(0, 100), .claimed = file_.size()};
  });
  expect_error<IoError>([&] { fetch(from({dropped.url()})); }, {"could not be downloaded", dropped.url()});
  EXPECT_EQ(files_left(), 0);
}

TEST_F(Download, MayBePinnedAsTheFileItIs) {
  const PinnedFile as_it_is{"file.gz", sha256(file_), Pinned::file};
  download_file(as_it_is, dir_.path(), from({good_.url()}));
  expect_arrived();
  std::filesystem::remove(dir_ / "file.gz");
  const HttpServer other([this](const std::string&) { return HttpAnswer{.body = file_ + "x"}; });
  expect_error<InputError>([&] { download_file(as_it_is, dir_.path(), from({other.url()})); },
                           {"file.gz", sha256(file_ + "x"), sha256(file_), "not kept"});
  EXPECT_EQ(files_left(), 0);
}

TEST_F(Download, WithoutNetworkSaysWhatWasTriedAndWhatToDo) {
  expect_error<IoError>(
      [&] {
        fetch(from({"http://127.0.0.1:1/a", "http://127.0.0.1:1/b"}));
      },
      {"data: file.gz could not be downloaded",
       "http://127.0.0.1:1/a/file.gz: ", "http://127.0.0.1:1/b/file.gz: ", "put it into " + dir_.path()});
  EXPECT_EQ(files_left(), 0);
}

TEST_F(Download, StopsWhenTheCallerThrows) {
  DownloadOptions options = from({good_.url()});
  options.progress = [](const DownloadProgress&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(fetch(options), std::runtime_error);
  EXPECT_EQ(files_left(), 0);
}

TEST_F(Download, NeedsADirectoryItCanWrite) {
  write_bytes(dir_ / "plain", "");
  expect_error<IoError>(
      [&] {
        download_file({"file.gz", ""}, dir_ / "plain", from({good_.url()}));
      },
      {dir_ / "plain", "cannot be written"});
  DownloadOptions options = from({good_.url()});
  options.directory = dir_ / "plain";
  expect_error<IoError>([&] { download_mnist(options); }, {dir_ / "plain", "cannot be made"});
}

TEST_F(Download, OfMnistFetchesOnlyWhatIsMissing) {
  make_mnist(dir_.path());
  const Bytes before = read_bytes(dir_ / "train-images-idx3-ubyte.gz");
  const HttpServer other([](const std::string&) { return HttpAnswer{.body = gzip("other content")}; });
  DownloadOptions options = from({other.url()});
  options.directory = dir_.path();
  download_mnist(options);
  EXPECT_EQ(other.requests(), 0);

  std::filesystem::remove(dir_ / "t10k-labels-idx1-ubyte.gz");
  expect_error<InputError>([&] { download_mnist(options); },
                           {"t10k-labels-idx1-ubyte.gz", sha256("other content"),
                            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"});
  EXPECT_EQ(other.requests(), 1);
  EXPECT_EQ(files_left(), 3);
  EXPECT_EQ(read_bytes(dir_ / "train-images-idx3-ubyte.gz"), before);
}

TEST_F(Download, OfCifar10WantsThePublishedArchive) {
  const HttpServer other([](const std::string&) { return HttpAnswer{.body = gzip("other content")}; });
  DownloadOptions options = from({other.url()});
  options.directory = dir_ / "cifar10";
  expect_error<InputError>([&] { download_cifar10(options); },
                           {"cifar-10-binary.tar.gz", sha256(gzip("other content")),
                            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"});
  EXPECT_FALSE(std::filesystem::exists(options.directory)) << "an empty folder is left";
  options.mirrors = {"http://127.0.0.1:1"};
  expect_error<IoError>([&] { download_cifar10(options); }, {"cifar-10-binary.tar.gz could not be downloaded",
                                                             "put it into " + dir_ / "cifar10"});
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  std::filesystem::create_directory(options.directory);
  write_bytes(dir_ / "cifar10/cifar-10-binary.tar.gz", "mine");
  download_cifar10(options);
  EXPECT_EQ(read_bytes(dir_ / "cifar10/cifar-10-binary.tar.gz"), "mine");
}

}  // namespace
}  // namespace ronde
