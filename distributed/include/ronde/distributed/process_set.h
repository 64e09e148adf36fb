/// ProcessSet: some ranks of a communicator, by their numbers, as a group of its own.
///
///     ProcessSet even(world, {0, 2});        // every rank of world calls this, with the same list
///     if (even.included()) even->allreduce(tensor).wait();
///
/// The group and the communicator it was made from may be used at the same time. Where communicators do not
/// overlap (an MPI below MPI_THREAD_MULTIPLE), a rank of both must start their operations in an order that
/// all ranks agree on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RONDE_API ProcessSet {
 public:
  /// Collective over `parent`. `ranks` are numbers in `parent`; rank r of the set is ranks[r].
  ProcessSet(Communicator& parent, std::vector<int> ranks);

  bool included() const { return communicator_ != nullptr; }
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// The set's communicator; an error on a rank that is not in it.
  Communicator& communicator() const;
  Communicator* operator->() const { return &communicator(); }
  Communicator& operator*() const { return communicator(); }

 private:
  std::vector<int> ranks_;
  std::unique_ptr<Communicator> communicator_;
  std::string refusal_;  // where this rank is not included
};

}  // namespace ronde::inline v0
