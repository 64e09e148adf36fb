/// EvaluationDetails: a test of a classifier, in more detail than loss and accuracy.
///
///     const EvaluationDetails details = collect_details(model, cifar.test);   // collective
///     report.test = details.test;                                             // what model.evaluate says
///
/// One pass over the data: call it instead of `model.evaluate`, not after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>
#include <ronde/data/test_time_views.h>
#include <ronde/models/model.h>

#include "report/report.h"

namespace ronde::apps {

/// A sample that was taken for something else.
struct Mistake {
  std::int64_t sample = 0;         ///< index in the data set
  std::int64_t label = 0;          ///< what it is
  std::int64_t predicted = 0;      ///< what the net says
  double probability = 0.0;        ///< that the net gives to what it says
  double label_probability = 0.0;  ///< that it gives to the truth
  std::string png = {};            ///< the picture's file; empty when samples are no pictures
};

struct EvaluationDetails {
  TestReport test = {};
  std::vector<std::string> class_names = {};  ///< one for each class: "0", "1" ... when the data set has none
  std::vector<std::int64_t> confusion = {};   ///< (classes, classes), row-major: [label][predicted] samples
  std::vector<Mistake> mistakes = {};         ///< the surest ones first

  std::int64_t classes() const { return static_cast<std::int64_t>(class_names.size()); }
  std::int64_t confused(std::int64_t label, std::int64_t predicted) const {
    return confusion[static_cast<std::size_t>(label * classes() + predicted)];
  }
  /// Samples of that class.
  std::int64_t count(std::int64_t label) const {
    std::int64_t samples = 0;
    for (std::int64_t k = 0; k < classes(); ++k) samples += confused(label, k);
    return samples;
  }
};

struct DetailsOptions {
  std::int64_t batch_size = 128;         ///< of one rank
  std::int64_t mistakes = 24;            ///< at most so many pictures are kept
  int loader_threads = 1;                ///< that read samples: more for pictures to decode
  std::vector<TestTimeView> views = {};  ///< as of `evaluate`
};

/// Collective: each rank computes its share of the samples; all ranks get the same result, and every count is
/// exact. Loss, accuracy and counts are those of `model.evaluate`. The data's targets are class labels (i32);
/// else, or when there are more labels than outputs, it is a UsageError. Outputs that are no probabilities
/// are taken for logits. Samples (h, w, 1 or 3) are pictures; each is stretched to its own range when it
/// leaves [0, 1].
EvaluationDetails collect_details(Model& model, const Dataset& data, DetailsOptions options = {});

}  // namespace ronde::apps
