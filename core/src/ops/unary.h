/// Records elementwise functions of one input.
#pragma once

#include <ronde/core/kernel_params.h>
#include <ronde/core/variable.h>

namespace ronde::inline v0 {

/// op(x); `name` is what errors call it.
Variable apply_unary(UnaryOp op, const char* name, const Variable& x, UnaryParams params = {});

}  // namespace ronde::inline v0
