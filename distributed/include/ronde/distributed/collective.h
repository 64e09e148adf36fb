/// Collective: what one rank calls, as data. `Communicator`'s verbs make one and hand it to `start`; most
/// users need only `Reduction` and `AllreduceOptions`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// How values of several ranks become one. `average` divides by the number of ranks; floating dtypes only.
/// Integers wrap around. The smallest and the largest of values of which one is not a number is none either.
enum class Reduction { sum, average, min, max, product };
RONDE_API std::string to_string(Reduction op);

struct AllreduceOptions {
  Reduction op = Reduction::sum;
  double prescale = 1.0;   ///< multiplies each rank's values first; floating dtypes only
  double postscale = 1.0;  ///< multiplies the result; floating dtypes only
  std::string name = {};   ///< shown in errors; must not be in flight twice on one communicator
};

/// Rows that an operation made room for itself.
struct ReceivedRows {
  Tensor rows;
  std::vector<std::int64_t> counts;  ///< of them, how many came from which rank
};

struct Collective {
  enum class Verb { allreduce, broadcast, allgather, allgatherv, reduce_scatter, alltoall, barrier };

  Verb verb = Verb::barrier;
  std::string name = {};
  std::vector<Tensor> tensors = {};  ///< allreduce and broadcast: in place; grouped if several
  Tensor out = {};                   ///< the others; undefined when `received` is set
  Tensor in = {};
  Reduction op = Reduction::sum;
  double prescale = 1.0;
  double postscale = 1.0;
  int root = 0;
  /// allgatherv: rows of each rank; alltoall: rows of `in` for each rank, if not alike.
  std::vector<std::int64_t> counts = {};
  /// Text that must be equal on all ranks as well: the C++ type of an object.
  std::string type = {};
  /// When set, the operation finds out the counts and makes its output.
  std::shared_ptr<ReceivedRows> received = {};
};

}  // namespace ronde::inline v0
