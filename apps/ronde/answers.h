/// Answers: what a net says about samples, in the form in which its outputs are meant.
#pragma once

#include <span>
#include <vector>

#include <ronde/models/model.h>

namespace ronde::apps {

enum class Meaning {
  classes,      ///< one class is right: probabilities that add up to 1
  independent,  ///< each output is a probability of its own, as of labels that may be right together
  values,       ///< numbers of any kind, as of a regression
};

/// How to read the outputs of a net.
struct Reading {
  Meaning meaning = Meaning::values;
  bool logits = false;  ///< of independent probabilities: they have yet to go through a sigmoid
};

/// Told by the last activation, softmax or sigmoid; for any other by the loss: the categorical crossentropies
/// have classes, the binary one has independent probabilities. Without a loss that is known they are values.
Reading reading_of(Model& model);

/// Of the outputs for one sample, probabilities or values. What is not finite stays so.
std::vector<double> answers(const Reading& reading, std::span<const double> outputs);

}  // namespace ronde::apps
