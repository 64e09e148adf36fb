/// RoundedCopies: bf16 copies of weights that a device keeps in f32.
///
/// Products in mixed precision read weights rounded to bf16. Of a buffer that was named to `keep`, the first
/// such weight has all of it rounded, by one kernel; from then on an optimizer's kernel writes the copy along
/// with the weights, so that a step has nothing to round. It costs two bytes a weight, also of an
/// embedding's, which nobody reads in bf16.
///
/// Note [True copies]: a copy is true as long as only optimizer steps with that copy `beside` them write to
/// the weights. The device's memory is written to in three places: outputs of kernels and copies from the
/// host (CudaBackend), exchanges of the ranks (DeviceGroup). Each says so by `written`, and a copy that is no
/// longer true is made anew before it is read. A graph repeats its writes without these: it is captured and
/// repeated with true copies only, and afterwards only those count as true that were so at its end. Of a
/// capture that was given up nothing is known. What is not seen is a kernel of a user's own CUDA code: it
/// should bring its weights by Tensor::copy_from. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ronde/core/tensor.h>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

class RoundedCopies {
 private:
  struct Copy {
    Tensor weights;  // dense, f32
    Tensor rounded;  // undefined until one of them was wanted
    bool is_true = false;
  };

 public:
  /// The copies that a graph knows, and whether they are true when it has run.
  using OfGraph = std::vector<std::pair<std::weak_ptr<Copy>, bool>>;

  /// `make` gives a tensor for the copy of these weights; `round` has one rounded into the other.
  RoundedCopies(std::function<Tensor(const Tensor& weights)> make,
                std::function<void(const Tensor& rounded, const Tensor& weights)> round)
      : make_(std::move(make)), round_(std::move(round)) {}

  /// From now on, as long as somebody has what this returns.
  std::shared_ptr<const void> keep(const Tensor& weights);
  /// x in bf16, as a view of a true copy; undefined when x is no part of weights that are kept so.
  Tensor of(const Tensor& x);
  /// What an optimizer's step has to write beside these weights; undefined when there is no true copy.
  Operand beside(const Operand& weights);
  /// Somebody else wrote there.
  void written(const void* begin, std::size_t bytes);

  /// Before a capture.
  void make_true();
  /// After it: what is true at its end.
  OfGraph of_graph();
  /// After one that was given up.
  void doubt();
  /// Before and after a repetition.
  void make_true(const OfGraph& known);
  void keep_true(const OfGraph& known);

 private:
  struct Kept {
    const char *begin, *end;
    std::weak_ptr<Copy> copy;
  };
  std::shared_ptr<Copy> find(const void* begin, std::int64_t elements);
  std::vector<std::shared_ptr<Copy>> all();
  void make_true(Copy& copy);

  std::function<Tensor(const Tensor&)> make_;
  std::function<void(const Tensor&, const Tensor&)> round_;
  std::mutex mutex_;  // held in all of these, while kernels are enqueued too: others read what they write
  std::vector<Kept> kept_;
};

}  // namespace ronde::inline v0::cuda
