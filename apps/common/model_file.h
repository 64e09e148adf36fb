/// What a user means who names the folder of a run where a model file is expected.
#pragma once

#include <string>

namespace ronde::apps {

/// A path to a file as it is. Of a folder whose one model file is checkpoint.h5, that file; IoError for any
/// other folder, which names the files to choose from.
std::string model_file(const std::string& path);

/// IoError when it cannot be opened for reading.
void require_readable(const std::string& path);

}  // namespace ronde::apps
