#include "common/model_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kFolders{"", "saved_models"};  // of a run, with models
constexpr std::array<std::string_view, 3> kEndings{".h5", ".hdf5", ".keras"};
constexpr std::size_t kMostNames = 5;

std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const std::string_view part : kFolders) {
    std::error_code ignored;
    for (fs::directory_iterator entry(fs::path(folder) / part, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      const std::string ending = entry->path().extension().string();
      if (std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end() &&
          entry->is_regular_file(ignored))
        found.push_back(entry->path().lexically_normal().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string listed(const std::vector<std::string>& files) {
  std::string text;
  for (std::size_t i = 0; i < std::min(files.size(), kMostNames); ++i)
    text += cat(i == 0 ? "" : ", ", files[i]);
  return files.size() > kMostNames ? cat(text, " ... (", files.size(), " in all)") : text;
}

}  // namespace

std::string model_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const std::vector<std::string> models = models_in(path);
  if (models.size() == 1 && fs::path(models[0]).filename() == "checkpoint.h5") return models[0];
  require<IoError>(!models.empty(), path, ": is a folder without a model file: name a file");
  throw IoError(cat(path, ": is a folder: name the model file in it: ", listed(models)));
}

void require_readable(const std::string& path) {
  require<IoError>(::access(path.c_str(), R_OK) == 0, path, ": cannot be read: ", std::strerror(errno));
}

}  // namespace ronde::apps
