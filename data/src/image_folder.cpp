#include <ronde/data/image_folder.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "files/input_file.h"
#include "scale_values.h"

#include <ronde/data/file_ending.h>

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

/// Pictures below a folder, by their path from there, sorted.
std::vector<std::string> pictures_below(const fs::path& folder) {
  std::vector<std::string> names;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (auto entry = fs::recursive_directory_iterator(folder, links); entry != fs::end(entry); ++entry) {
    if (is_hidden(entry->path()))
      entry.disable_recursion_pending();
    else if (is_picture(entry->path()) && !entry->is_directory())
      names.push_back(entry->path().lexically_relative(folder));
  }
  std::sort(names.begin(), names.end());
  return names;
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
    for (std::size_t label = 0; label < options_.class_names.size(); ++label)
      list_class(static_cast<std::int32_t>(label));
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

void ImageFolder::list_class(std::int32_t label) {
  const std::string& name = options_.class_names[static_cast<std::size_t>(label)];
  for (const std::string& picture : pictures_below(fs::path(directory_) / name))
    files_.push_back({cat(name, "/", picture), label});
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
