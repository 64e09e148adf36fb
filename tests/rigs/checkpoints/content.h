/// Model files whose content follows from a step, so that whoever reads one knows what should be in it.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/models/saved_model.h>

namespace ronde::rigs {

/// What a training of one dense layer and Adam would save after `step` steps; about 5 KB.
SavedModel content_of(std::int64_t step);

/// `directory`/checkpoint-<step>.h5
std::string file_of(const std::string& directory, std::int64_t step);

/// What a program that starts again finds in the directory.
struct Found {
  std::int64_t step = 0;  ///< 0: no good file
  bool is_right = true;   ///< the file holds what was saved at that step
  std::string damaged;    ///< files that were passed over; empty: none
};
Found find(const std::string& directory);

}  // namespace ronde::rigs
