/// ParameterArena: one flat buffer each for the weights, their gradients and every optimizer state of a net.
/// The variables become views of it, so a bucket, a shard or a checkpoint is a slice, an optimizer step is
/// one kernel and a broadcast is one call.
///
/// Layout, Note [Arena layout]: trainable parameters in *reverse* execution order (the order in which
/// backward finishes them), each segment starting on 64 bytes; then frozen parameters; then `kExtras`
/// elements that belong to no parameter and travel with the last bucket (sample counts). Padding stays zero.
/// Moving statistics have a flat buffer of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Where one parameter lies, in elements.
struct Segment {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  Shape shape;
  bool frozen = false;
  bool sparse = false;           ///< Parameter::sparse_gradient
  Regularizer regularizer = {};  ///< none for a frozen one
};

class RONDE_API ParameterArena {
 public:
  static constexpr std::int64_t kExtras = 16;

  /// Moves the weights of a built module into the arena. All of one floating dtype, on one backend; where
  /// there are none, the buffers hold nothing but the extras, as `without_weights` says, and are an error
  /// without it.
  explicit ParameterArena(Module& module, const std::optional<TensorOptions>& without_weights = {});
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  /// Flat; trainable, then frozen, then extras.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  /// Flat; moving statistics. Empty (0,) when there are none.
  const Tensor& buffers() const { return buffers_; }
  /// The part of a flat buffer that the optimizer updates: elements [0, trainable_size()).
  std::int64_t trainable_size() const { return trainable_size_; }
  /// Elements up to the extras, which start at a 64-byte boundary.
  std::int64_t size() const { return size_; }
  /// `kExtras` elements behind the gradients.
  Tensor extras() const { return gradients_.view(size_, {kExtras}); }
  /// A zeroed buffer of trainable_size() elements.
  Tensor make_state() const;

  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Segment>& buffer_segments() const { return buffer_segments_; }
  /// Whether a segment has a regularizer.
  bool is_regularized() const;
  /// A trainable weight that lies here no longer, as an arena made of the net later has taken it: nothing
  /// that is done to `values()` would change it. Empty: there is none.
  std::string lost_weight() const;
  /// The variable of segment i.
  const Variable& variable(std::size_t i) const { return variables_[i]; }

  /// Moves the weights into another flat buffer like `values()`: memory that other processes see, for
  /// example.
  void use_values(const Tensor& flat);
  /// Takes another flat buffer like `gradients()`, with zeros in its padding: several sums can be kept at
  /// once. What it holds are the gradients until `zero_gradients`.
  void use_gradients(const Tensor& flat);
  /// Before a backward pass that starts a new sum. Touches no memory: the pass overwrites.
  void zero_gradients();
  /// `hook` is called first in every `zero_gradients`, for as long as the arena lives.
  void on_zero_gradients(std::function<void()> hook) { zero_hooks_.push_back(std::move(hook)); }
  /// Writes zeros where no gradient arrived since `zero_gradients`, so that the flat buffer may be reduced.
  /// A second call changes nothing, so it cannot undo a reduction.
  void complete_gradients();

  /// Grows whenever values may have changed: step, load, broadcast, set_weights. Caches of packed weights key
  /// on it.
  std::uint64_t version() const { return version_; }
  void bump_version() { ++version_; }

 private:
  Tensor values_, gradients_, buffers_;
  std::int64_t trainable_size_ = 0;
  std::int64_t size_ = 0;
  std::vector<Segment> segments_, buffer_segments_;
  std::vector<Variable> variables_;
  std::vector<std::function<void()>> zero_hooks_;
  bool complete_ = false;
  std::shared_ptr<const void>
      rounded_;  // of the values, where a backend keeps a copy (Backend::keep_rounded)
  std::uint64_t version_ = 0;
};

}  // namespace ronde::inline v0
