/// Labels of classes, which what follows indexes with.
#pragma once

#include <cstdint>

#include <ronde/core/counted.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// Those of all rows of a cross-entropy of k classes; throws if one is none of these.
inline const std::int32_t* checked_labels(const Tensor& labels, std::int64_t k) {
  const auto* label = labels.data<std::int32_t>();
  for (std::int64_t i = 0; i < labels.count(); ++i)
    require(label[i] >= 0 && label[i] < k, "[softmax_cross_entropy] label ", label[i], " of row ", i,
            " is none of the ", counted(k, "class", "classes"));
  return label;
}

}  // namespace ronde::inline v0
