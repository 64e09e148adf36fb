// The all-reduce curve of Ronde against MPI_Allreduce, call by call in turn; see README.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include <mpi.h>

#include <ronde/core/backend.h>
#include <ronde/distributed/mpi_communicator.h>

#include "stopwatch.h"

namespace bench {
namespace {

using namespace ronde;

constexpr double kSecondsPerSize = 1.0;
constexpr std::int64_t kSizes[] = {4,       64,      1 << 10,   16 << 10, 64 << 10,
                                   1 << 18, 1 << 20, 4'800'000, 26 << 20, 100'000'000};

// Seconds of the slowest rank: ranks start together, with a buffer that each has just written, as a backward
// pass does.
double time_once(void* data, std::size_t bytes, const std::function<void()>& call) {
  std::memset(data, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const Stopwatch watch;
  call();
  double seconds = watch.seconds();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// Microseconds: the median, and what the best tenth of the calls reaches, which is what counts on a machine
// that others use too.
struct Times {
  explicit Times(const std::vector<double>& seconds)
      : median(1e6 * bench::median(seconds)), best_tenth(1e6 * quantile(seconds, 0.1)) {}
  double median, best_tenth;
};

void measure(Communicator& world, std::int64_t bytes) {
  const std::int64_t count = bytes / 4;
  const TensorOptions host{.dtype = DType::f32, .backend = &backend("cpu")};
  const Tensor shared = world.shared_tensor({count}, host);
  const Tensor own = Tensor::zeros({count}, host), theirs = Tensor::zeros({count}, host);
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<double> ours, copied, mpi;
  const Stopwatch whole;
  for (int more = 1; more;) {
    mpi.push_back(time_once(theirs.raw(), size, [&] {
      MPI_Allreduce(MPI_IN_PLACE, theirs.raw(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }));
    ours.push_back(time_once(shared.raw(), size, [&] { world.allreduce(shared).wait(); }));
    copied.push_back(time_once(own.raw(), size, [&] { world.allreduce(own).wait(); }));
    more = mpi.size() < 5 || whole.seconds() < kSecondsPerSize;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (world.rank() > 0) return;
  const Times m(mpi), s(ours), o(copied);
  std::printf("%11lld |%10.1f %10.1f |%10.1f %10.1f |%10.1f %10.1f |%7.2f %7.2f |%7.2f\n",
              static_cast<long long>(bytes), m.median, m.best_tenth, s.median, s.best_tenth, o.median,
              o.best_tenth, m.median / s.median, m.best_tenth / s.best_tenth,
              static_cast<double>(bytes) * 1e-3 / s.best_tenth);
  std::fflush(stdout);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  {
    const std::unique_ptr<ronde::Communicator> world = ronde::make_mpi_communicator();
    if (world->rank() == 0) {
      std::printf(
          "%s\nmicroseconds: median, best tenth; GB/s: bytes / best tenth\n%11s |%21s |%21s |%21s |%15s "
          "|%7s\n",
          world->transport().c_str(), "bytes", "MPI_Allreduce", "Ronde", "Ronde, own memory", "MPI / Ronde",
          "GB/s");
    }
    for (const std::int64_t bytes : bench::kSizes) bench::measure(*world, bytes);
    world->conclude({});
  }
  MPI_Finalize();
  return 0;
}
