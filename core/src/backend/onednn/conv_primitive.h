/// ConvPrimitive: one of oneDNN's convolutions, prepared for one shape and ready to run.
///
/// All that differs between oneDNN's major versions is in conv_primitive.cpp. Activations are plain NHWC;
/// weights are in whatever layout oneDNN likes best for the shape ("packed").
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ronde/core/kernel_params.h>

namespace ronde::inline v0 {

enum class ConvPass { forward, backward_input, backward_weight };

/// A convolution of `n` images: x (n, h, w, c), weight OHWI (o, kh, kw, c / groups), out (n, oh, ow, o).
struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  std::int64_t n = 1, h = 1, w = 1, c = 1, oh = 1, ow = 1, o = 1, kh = 1, kw = 1;
  Conv2dParams params;
  bool has_bias = false;
  bool relu = false;  ///< applied by our own loops: oneDNN's would turn a NaN into 0
  /// Channels of a pixel of x and of out in memory, if c and o are but some of them; 0: c, o. Our own
  /// Winograd kernels know them.
  std::int64_t all_c = 0, all_o = 0;

  using Key = std::array<std::int64_t, 20>;
  Key key() const;
  /// 1x1, with a stride.
  bool picks_pixels() const;
};

/// Not thread safe: whoever runs it has it for himself. Runs in the calling thread only.
class ConvPrimitive {
 public:
  /// `packed_like` fixes the packed layout to that of another primitive.
  explicit ConvPrimitive(const ConvProblem& problem, const ConvPrimitive* packed_like = nullptr);
  ~ConvPrimitive();

  /// False when oneDNN has nothing but slow reference code for the shape, or nothing in that layout; then
  /// nothing else may be called.
  bool is_fast() const;
  /// Length of the packed weights in floats.
  std::int64_t packed_count() const;
  void pack(float* packed, const float* plain);
  void unpack(float* plain, const float* packed);
  /// Forward reads x, weight, bias and writes out; backward_input reads out (its gradient), weight and writes
  /// x; backward_weight reads x, out and writes weight, bias. `bias` is looked at when the problem has one.
  void run(float* x, float* packed_weight, float* bias, float* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Primitives that were made before, kept for the next call. Thread safe.
class ConvCache {
 public:
  /// What a primitive computes, and what problem its weights' layout is for.
  struct Key {
    ConvProblem::Key problem, packed_for;
    auto operator<=>(const Key&) const = default;
  };

  /// A primitive on loan; goes back to the cache at the end of the scope.
  class Lease {
   public:
    Lease(ConvCache& cache, const Key& key, std::unique_ptr<ConvPrimitive> primitive)
        : cache_(cache), key_(key), primitive_(std::move(primitive)) {}
    ~Lease() { cache_.give_back(key_, std::move(primitive_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ConvPrimitive& operator*() const { return *primitive_; }
    ConvPrimitive* operator->() const { return primitive_.get(); }
    const Key& key() const { return key_; }

   private:
    ConvCache& cache_;
    Key key_;
    std::unique_ptr<ConvPrimitive> primitive_;
  };

  /// `packed_like` fixes the packed layout to that of another one, which was made for its own problem's.
  Lease take(const ConvProblem& problem, const Lease* packed_like = nullptr);

 private:
  void give_back(const Key& key, std::unique_ptr<ConvPrimitive> primitive) noexcept;

  /// Shapes that are kept; a program that shows more of them starts again with an empty cache.
  static constexpr std::size_t kMaxShapes = 512;
  std::mutex mutex_;
  std::map<Key, std::vector<std::unique_ptr<ConvPrimitive>>> free_;
};

}  // namespace ronde::inline v0
