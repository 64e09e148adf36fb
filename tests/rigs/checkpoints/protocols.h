/// Ways of saving: Ronde's own, and some that leave a part of it out, which the rigs must find fault with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ronde::rigs {

enum class Protocol {
  full,          ///< write_saved_model
  in_place,      ///< the file itself is opened, emptied and written
  early_rename,  ///< the new file gets its name before all of it is written
  early_ack,     ///< the file is said to be safe before it has its name
  no_fsync,      ///< the new file is not synced before it gets its name
  no_dir_fsync,  ///< the directory is not synced before the file is said to be safe
};
const char* name_of(Protocol protocol);

/// Saves the content of `step` as file_of(directory, step), and calls `acknowledge` when it is safe by the
/// lights of the protocol; deletes the file of `step` - 2 then.
void save(Protocol protocol, const std::string& directory, std::int64_t step,
          const std::function<void(std::int64_t)>& acknowledge);

}  // namespace ronde::rigs
