/// ImageFolder: pictures in one sub-folder for each class.
///
///     ImageFolder pets("pets", {.height = 64, .width = 64});    // pets/cat/*.jpg, pets/dog/more/*.png, ...
///     model.fit(pets, {.batch_size = 32});                      // inputs (n, 64, 64, 3) in [0, 1]
///
/// Classes are the sub-folders in alphabetical order; samples are sorted by class and path. Below a class
/// folder, every file that ends in .png, .jpg or .jpeg counts, whatever the case; names that begin with a dot
/// do not. Links to other folders are followed; one to a folder that it lies in is an error, as pictures
/// would come again and again. Only the list is held in memory: pictures are read and decoded when they are
/// asked for, so let several threads do it (`LoaderOptions.threads`), or pack them once (`pack_dataset`).
///
/// Thread safety: `read` may be called from several threads at once. The files must stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>
#include <ronde/data/image_file.h>

namespace ronde::inline v0 {

struct ImageFolderOptions {
  /// Every picture is resized to it; give both or none. 0: all must be as large as the first one.
  std::int64_t height = 0;
  std::int64_t width = 0;
  ImageChannels channels = ImageChannels::rgb;  ///< as_stored: all must have as many as the first one
  double scale = 1.0 / 255;                     ///< the net sees byte * scale + offset
  double offset = 0.0;
  std::vector<std::string> class_names = {};  ///< if given: these sub-folders, in this order
};

class RONDE_API ImageFolder : public Dataset {
 public:
  /// Lists the files and decodes the first. IoError when the folder cannot be read, InputError when it holds
  /// no classes or no pictures, or a link that leads in a circle.
  explicit ImageFolder(const std::string& directory, ImageFolderOptions options = {});

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Shape input_shape() const override { return shape_; }
  std::vector<std::string> class_names() const override { return options_.class_names; }
  /// InputError, with the path, for a picture that is damaged or of another size; IoError for one that is
  /// gone.
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

  /// The file of a sample.
  std::string path(std::int64_t sample) const;
  std::int32_t label(std::int64_t sample) const;

 private:
  struct File {
    std::string name;  // below directory_
    std::int32_t label;
  };
  void list_pictures();
  const File& file(std::int64_t sample) const;
  Tensor picture(std::int64_t sample) const;

  std::string directory_;
  ImageFolderOptions options_;
  std::vector<File> files_;
  Shape shape_;  // (height, width, channels)
};

}  // namespace ronde::inline v0
