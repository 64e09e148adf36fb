#include "layers/layer_checks.h"

#include <ronde/core/counted.h>

namespace ronde::inline v0 {

void require_filters(const Module& layer, std::int64_t filters, std::int64_t groups) {
  require<UsageError>(filters > 0, "[", layer.label(), "] filters must be positive, got ", filters);
  require<UsageError>(groups > 0 && filters % groups == 0, "[", layer.label(), "] ",
                      counted(filters, "filter"), " cannot be split into ", counted(groups, "group"));
}

void require_depth_multiplier(const Module& layer, std::int64_t multiplier) {
  require<UsageError>(multiplier > 0, "[", layer.label(), "] depth_multiplier must be positive, got ",
                      multiplier);
}

void require_groups(const Module& layer, std::int64_t channels, std::int64_t groups) {
  require(channels > 0 && channels % groups == 0, "[", layer.label(), "] ",
          counted(channels, "input channel"), " cannot be split into ", counted(groups, "group"));
}

void require_channels(const Module& layer, const Variable& x, std::int64_t channels) {
  require(x.shape().back() == channels, "[", layer.label(), "] expects ", counted(channels, "input channel"),
          ", got ", x.shape().back());
}

void require_not_negative(const Module& layer, const char* what, std::initializer_list<std::int64_t> values) {
  for (const std::int64_t value : values)
    require<UsageError>(value >= 0, "[", layer.label(), "] ", what, " must not be negative, got ", value);
}

}  // namespace ronde::inline v0
