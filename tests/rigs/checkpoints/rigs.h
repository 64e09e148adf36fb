/// The rigs; each prints its figures and returns whether all was as it must be.
#pragma once

#include <cstdint>
#include <string>

namespace ronde::rigs {

struct RigOptions {
  std::int64_t trials = 0;
  std::uint64_t seed = 20261121;
};

/// A program that saves after each step is killed (kill -9) at a random time, and looked at by the next.
bool run_kills(const RigOptions& options);
/// Each system call of a save fails in each way, or is where the process is killed.
bool run_faults();
/// Every state that a disk may be in when the power fails during some saves.
bool run_power_cuts();
/// Real file systems, as the power fails while a program saves. As root.
bool run_disks(const RigOptions& options);
/// Files with changed bytes.
bool run_mutants(const RigOptions& options);
/// Turned bits, NaN and infinity on one rank of three.
bool run_injections(const RigOptions& options);
/// What saving and checking cost a training of the MNIST net.
bool measure_costs();

/// In a child process; its exit status, or -signal.
int in_child(int (*body)(void*), void* argument);
template <class F>
int in_child(F&& body) {
  return in_child([](void* f) -> int { return (*static_cast<F*>(f))(); }, static_cast<void*>(&body));
}

}  // namespace ronde::rigs
