/// What `fit` does when a step's gradients or its loss hold NaN or infinity.
///
///     model.fit(data, {.non_finite = {.action = NonFiniteAction::skip}});
///
/// All ranks do the same, at the same step: they look at the sum over all ranks, in which one rank's NaN
/// shows, and at the losses that travel with it, for the price of one pass over the gradients. Where they do
/// not see the same sum (sharded state, local steps, error feedback) they agree in an all-reduce of one
/// number; but `abort` between local steps is one rank's error, of which the others hear when they next meet.
///
/// The error or warning names the step, the rank, the samples whose loss it is (by their places in the data
/// set), or else the parameter whose gradient it is: each rank repeats the step alone to find out.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

enum class NonFiniteAction {
  /// Looks at the epoch's loss when the epoch ends, and throws: Keras' way, for TerminateOnNaN to be of use.
  finish_epoch,
  /// Throws before the weights change: a CollectiveError with the status non_finite on all ranks. A single
  /// GPU
  /// may have been given the next step by then, which changes nothing either: callbacks may have heard of the
  /// end of the one that was refused.
  abort,
  /// Leaves weights, optimizer and moving statistics as they were, and goes on with the next step. Loss and
  /// metrics of the epoch do not count the samples of the step.
  skip,
  /// Goes back to the weights and the optimizer of the checkpoint written last, or of the file this run goes
  /// on with, and on with the next samples, so those that led here do not come again in this order. If that
  /// leads to such a step again before another file is written, it goes back one file further.
  rollback,
};

struct NonFiniteOptions {
  NonFiniteAction action = NonFiniteAction::finish_epoch;
  /// At so many skipped steps in a row, or returns without another file, it throws as with `abort`.
  std::int64_t limit = 10;
};

}  // namespace ronde::inline v0
