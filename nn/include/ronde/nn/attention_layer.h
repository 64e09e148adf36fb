/// AttentionLayer: what MultiHeadAttention, Attention and AdditiveAttention have in common. For each step of
/// a query (n, t, ...) they average the steps of a value (n, s, ...), by weights some of which are masked and
/// some, while training, dropped.
///
/// To Keras `use_causal_mask` is an argument of a call, and so it is in files: all calls of a layer have the
/// same one here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/nn/dropout.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API AttentionLayer : public Module {
 public:
  /// Whether step i of the query takes from steps 0 ... i alone.
  virtual bool use_causal_mask() const = 0;
  virtual void set_use_causal_mask(bool use_causal_mask) = 0;
  /// What is added to scores (t, s): 0 where step i of t may take from step j of s, else -1e9.
  static Tensor causal_mask(std::int64_t t, std::int64_t s, TensorOptions options = {});

 protected:
  /// Of the fraction of weights that is dropped.
  explicit AttentionLayer(double dropout) : dropout_(dropout) {}
  /// That fraction, or a UsageError of the layer of that name, or `unnamed` without one.
  static double checked_dropout(double dropout, const std::string& name, const char* unnamed);
  void require_input(const char* name, const Shape& shape, const Shape& expected) const;
  /// scores (..., t, s) plus the causal mask, if there is to be one.
  Variable causal(const Variable& scores, const Context& context);
  /// The mask of a query (n, t, ...) as (n, 1, t, 1), that of a value or key (n, s, ...) as (n, 1, 1, s);
  /// undefined if it has none.
  Tensor query_mask(const Variable& x) const;
  Tensor value_mask(const Variable& x) const;
  /// Ones where all masks and the causal one have them, else zeros, of shape (n, 1, t, s); undefined where
  /// none of the masks is defined.
  Tensor allowed(const Shape& shape, const std::vector<Tensor>& masks, const Context& context);
  /// What is then added to scores: 0 where that has ones, else -1e9.
  static Tensor added_for(const Tensor& allowed);
  /// weights (n, ..., t, s), some of them dropped; the mask is a function of what that of a `Dropout` is.
  Variable dropped(const Variable& weights, const Context& context);

 private:
  Tensor kept_causal_mask(const Shape& shape, TensorOptions wanted, const Context& context);

  Dropout dropout_;     // only asked for what to drop
  Tensor causal_mask_;  // of the shape that the net was built for
};

}  // namespace ronde::inline v0
