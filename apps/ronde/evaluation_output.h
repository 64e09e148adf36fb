/// What `ronde evaluate` says, for people and for scripts.
#pragma once

#include <string>

#include "report/evaluation_details.h"

namespace ronde::apps {

/// What was tested, on what.
struct Evaluated {
  std::string file;         ///< the model's
  std::string description;  ///< of the data, a line
  int ranks = 1;
};

/// Loss, accuracy, and a table of the classes.
std::string evaluation_text(const Evaluated& evaluated, const EvaluationDetails& details);
/// The confusion matrix: a line for each class of the data, a column for each answer of the net.
std::string confusion_text(const EvaluationDetails& details);
/// All of it: `confusion` has a list for each class, with the counts of the net's answers; the accuracy of a
/// class without samples is null.
std::string evaluation_json(const Evaluated& evaluated, const EvaluationDetails& details);

}  // namespace ronde::apps
