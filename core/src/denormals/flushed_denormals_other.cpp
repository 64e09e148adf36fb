// Of processors whose modes are not known here: they compute with denormal numbers.
#include "denormals/flushed_denormals.h"

namespace ronde::inline v0 {

FlushedDenormals::FlushedDenormals() : before_(0) {
  static_cast<void>(before_);
}
FlushedDenormals::~FlushedDenormals() = default;

}  // namespace ronde::inline v0
