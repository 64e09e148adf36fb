/// Embedding: whole numbers to rows of a table of weights, "embeddings" (input_dim, output_dim).
///
///     Sequential net(Embedding({.input_dim = 20000, .output_dim = 64}), GlobalAveragePooling1D(),
///                    Dense({.units = 1, .activation = Activation::sigmoid}));
///     net.build({200});                              // samples of 200 words
///
/// Inputs are 0 ... input_dim - 1, as i32, i64 or, as data sets give them, in floating numbers; what is
/// outside is an error. A batch's gradient is zero in all rows but those it uses; between ranks only these
/// rows travel when that is less (Note [Sparse rows] in distributed). With mask_zero, index 0 is no word but
/// fills up shorter sequences: layers behind leave these steps out (masking.h).
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct EmbeddingOptions {
  std::int64_t input_dim = 0;   ///< rows: how many different numbers there are
  std::int64_t output_dim = 0;  ///< length of a row
  Initializer embeddings_initializer = Initializer::random_uniform();
  Regularizer embeddings_regularizer = {};
  bool mask_zero = false;
  std::string name = {};
};

class RONDE_API Embedding : public Module {
 public:
  explicit Embedding(EmbeddingOptions options);
  const EmbeddingOptions& options() const { return options_; }
  std::string class_name() const override { return "Embedding"; }
  ConfigDict config() const override;
  /// Indices beyond 256 are not among bf16's numbers.
  bool casts_inputs() const override { return false; }
  /// (n, ...) -> (n, ..., output_dim)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  EmbeddingOptions options_;
  Variable embeddings_;
};

}  // namespace ronde::inline v0
