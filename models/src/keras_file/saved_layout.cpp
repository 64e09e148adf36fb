#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

SavedLayout layout_for(std::string_view path) {
  if (path.ends_with(".keras")) return SavedLayout::archive;
  return path.ends_with(".weights.h5") ? SavedLayout::weights_h5 : SavedLayout::h5;
}

}  // namespace ronde::inline v0
