/// What every operation checks before it calls a kernel.
#pragma once

#include <ronde/core/backend.h>
#include <ronde/core/variable.h>

namespace ronde::inline v0 {

/// An error unless `x` is defined and floating.
void require_floating(const char* op, const Tensor& x);
/// An error that tells how to bring them together, unless both lie on one backend.
void require_same_backend(const char* op, const Tensor& a, const Tensor& b, const char* what = "inputs");
/// An error unless `a` and `b` have one dtype and one backend.
void require_alike(const char* op, const Tensor& a, const Tensor& b);
/// An error unless `x` has `rank` axes; `layout` names them: "(n, h, w, c)".
void require_rank(const char* op, const char* what, const Tensor& x, int rank, const char* layout);
/// `axis`, counted from the front; an error when x does not have it.
int resolve_axis(const char* op, const Tensor& x, std::int64_t axis);

/// An error unless `weight` lies where x does and has x's dtype, or is f32 beside a bf16 x.
void require_weight(const char* op, const Tensor& x, const Tensor& weight);
/// The same, unless `weight` also is (c), of an x (n, ..., c); `what` names it: "gamma".
void require_per_channel(const char* op, const char* what, const Tensor& x, const Tensor& weight);
/// An error unless these are the arguments of a dense layer; the bias may be undefined.
void require_dense(const char* op, const Tensor& x, const Tensor& weight, const Variable& bias);
/// An error unless dropout can be applied to x (n, ...) with these keys and this rate.
void require_dropout(const Tensor& x, const Tensor& sample_keys, const DropoutParams& params);
/// An error unless these are i32 or i64.
void require_indices(const char* op, const Tensor& indices);
/// Such integers, dense, as i32: those of an i64 beyond it become its largest or its least one.
Tensor indices_in_i32(const Tensor& indices);
/// A weight for products with x: dense, and rounded to bf16 where x is.
Tensor weight_value(const Tensor& weight, const Tensor& x);

/// A convolution's bias, rounded as its weight is; undefined when it was not given. cuDNN adds one of bf16 by
/// some thirty engines, one of f32 only by such as it compiles when a plan is made.
Tensor bias_value(const Variable& bias, const Tensor& x);

/// Value of an optional input, dense; undefined when it was not given.
Tensor dense_value(const Variable& x);

}  // namespace ronde::inline v0
