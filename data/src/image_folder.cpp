#include <ronde/data/image_folder.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <ronde/data/file_ending.h>

#include "files/input_file.h"
#include "scale_values.h"

namespace ronde::inline v0 {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

bool is_picture(const fs::path& path) {
  const auto endings = {".png", ".jpg", ".jpeg"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return has_ending(path.native(), ending); });
}

std::vector<std::string> sub_folders(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_directory() && !is_hidden(entry.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// What a folder is, whatever the path to it.
struct FolderId {
  dev_t device;
  ino_t inode;
  bool operator==(const FolderId&) const = default;
};

FolderId folder_id(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0)
    throw fs::filesystem_error("stat", folder, std::error_code(errno, std::generic_category()));
  return {status.st_dev, status.st_ino};
}

/// Collects the pictures below folders, and follows links to others.
class PictureWalk {
 public:
  explicit PictureWalk(const fs::path& root) : root_(root) { path_.push_back(folder_id(root)); }

  /// Those below a folder of the root, by their path from there, sorted.
  std::vector<std::string> pictures_below(const fs::path& folder) {
    pictures_.clear();
    walk(folder);
    for (std::string& picture : pictures_) picture = fs::path(picture).lexically_relative(folder);
    std::sort(pictures_.begin(), pictures_.end());
    return std::move(pictures_);
  }

 private:
  void walk(const fs::path& folder);

  const fs::path& root_;
  std::vector<FolderId> path_;  // the folders from the root to where the walk is
  std::vector<std::string> pictures_;
};

void PictureWalk::walk(const fs::path& folder) {
  const FolderId id = folder_id(folder);
  require<InputError>(std::find(path_.begin(), path_.end(), id) == path_.end(), "data: ", folder.string(),
                      ": leads back to a folder that it lies in, by a link below ", root_.string(),
                      ", so its pictures would come again and again: remove the link");
  path_.push_back(id);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_hidden(entry.path())) continue;
    if (entry.is_directory())
      walk(entry.path());
    else if (is_picture(entry.path()))
      pictures_.push_back(entry.path());
  }
  path_.pop_back();
}

}  // namespace

ImageFolder::ImageFolder(const std::string& directory, ImageFolderOptions options)
    : directory_(directory), options_(std::move(options)) {
  require<UsageError>(
      options_.height >= 0 && options_.width >= 0 && (options_.height > 0) == (options_.width > 0),
      "[image_folder] expects a height and a width, or neither, got ", options_.height, " and ",
      options_.width);
  try {
    if (options_.class_names.empty()) options_.class_names = sub_folders(directory_);
    list_pictures();
  } catch (const fs::filesystem_error& error) {
    const std::string where = error.path1().empty() ? directory_ : error.path1().string();
    throw IoError(cat("data: ", where, ": ", error.code().message()));
  }
  require<InputError>(!options_.class_names.empty(), "data: ", directory_,
                      ": holds no folders, expected one for each class");
  require<InputError>(!files_.empty(), "data: ", directory_, ": holds no .png, .jpg or .jpeg files in its ",
                      options_.class_names.size(), " folders");
  shape_ = picture(0).shape();
}

void ImageFolder::list_pictures() {
  const fs::path root(directory_);
  PictureWalk walk(root);
  for (std::size_t label = 0; label < options_.class_names.size(); ++label) {
    const std::string& name = options_.class_names[label];
    for (const std::string& picture : walk.pictures_below(root / name))
      files_.push_back({cat(name, "/", picture), static_cast<std::int32_t>(label)});
  }
}

const ImageFolder::File& ImageFolder::file(std::int64_t sample) const {
  require(sample >= 0 && sample < size(), "[image_folder] sample ", sample, " of ", size());
  return files_[static_cast<std::size_t>(sample)];
}

std::string ImageFolder::path(std::int64_t sample) const {
  return cat(directory_, "/", file(sample).name);
}

std::int32_t ImageFolder::label(std::int64_t sample) const {
  return file(sample).label;
}

Tensor ImageFolder::picture(std::int64_t sample) const {
  Tensor image = read_image(path(sample), options_.channels);
  if (options_.height > 0) image = resize_image(image, options_.height, options_.width);
  const bool first = shape_.rank() == 0;
  require<InputError>(first || image.shape() == shape_, "data: ", path(sample),
                      ": a picture (height, width, channels) of ", image.shape(), ", expected ", shape_,
                      " as of the first one; give a height, a width and channels to make them equal");
  return image;
}

void ImageFolder::read(std::span<const std::int64_t> samples, const Tensor& inputs,
                       const Tensor& targets) const {
  const std::int64_t count = shape_.count();
  std::int64_t row = 0;
  for (const std::int64_t sample : samples) {
    const Tensor image = picture(sample);
    visit_real(inputs.dtype(), "image_folder", [&](auto real) {
      using T = decltype(real);
      scale_values(image.data<std::uint8_t>(), count, inputs.data<T>() + row * count, options_.scale,
                   options_.offset);
    });
    targets.data<std::int32_t>()[row++] = label(sample);
  }
}

}  // namespace ronde::inline v0
