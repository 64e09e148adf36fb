/// What collectives of every kind of communicator must compute, as functions that each rank calls on its
/// communicator. Results are compared with a serial computation in double. contract_suite.h: errors and all
/// else.
#pragma once

#include <ronde/distributed/communicator.h>

namespace ronde::test {

void check_allreduce(Communicator& c);
/// Sums of as many bytes as buckets have; on few ranks only. More than that: large_counts.cpp.
void check_bucket_sizes(Communicator& c);
void check_broadcast(Communicator& c);
void check_allgather(Communicator& c);
/// Rank r gives r * n / 3 rows: some give none.
void check_allgatherv(Communicator& c);
void check_reduce_scatter(Communicator& c);
void check_alltoall(Communicator& c);
/// The same, where the ranks' rows differ in number and nobody knows them all.
void check_unknown_rows(Communicator& c);
/// 0 to several rows more than a multiple of the ranks; also fewer than ranks.
void check_uneven_reduce_scatter(Communicator& c);
/// Rank s sends (r + 2 s) % 4 * n rows to rank r.
void check_alltoall_splits(Communicator& c);
/// out and in share memory.
void check_in_place(Communicator& c);
/// Integers that use all of their bits.
void check_integers(Communicator& c);
/// A NaN of one rank is in every result that it belongs to, and in no other.
void check_nans(Communicator& c);
void check_scales(Communicator& c);
/// One operation on several tensors gives each the bits that it gets alone.
void check_grouped(Communicator& c);
/// Tensors without an axis, and without an element.
void check_scalars(Communicator& c);
/// Many operations of all kinds under way, waited for in a random order of each rank's own.
void check_many_in_flight(Communicator& c);
/// A part that says enough for more processes than most machines have cores.
void check_some_collectives(Communicator& c);
/// All of the above.
void check_collectives(Communicator& c);

}  // namespace ronde::test
