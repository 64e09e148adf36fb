// Run by mpirun: an application that ends MPI, as it always did, though Ronde has started it. Who ends it a
// second time ends the job.
#include <mpi.h>

#include <vector>

#include <ronde/distributed/runtime.h>
#include <ronde/distributed/values.h>

int main(int argc, char** argv) {
  ronde::init(argc, argv);
  std::vector<double> values{1.0};
  ronde::allreduce_values(ronde::world(), values);
  MPI_Finalize();
  return values[0] == ronde::size() ? 0 : 1;
}
