/// NcclCommunicator: the ranks of another communicator, whose tensors may also lie on GPUs, one for each
/// rank.
///
///     Backend& gpu = cuda_backend(world.local_rank());
///     const auto gpus = make_nccl_communicator(world, gpu);
///     gpus->allreduce(tensor_on_gpu).wait();   // NCCL; the host does not wait for it
///
/// A Model on a GPU makes one by itself. Tensors of the host, and all that ranks say to each other beside
/// tensors, travel as before, by the communicator that this one was made from and which must outlive it.
///
/// `Work::wait` of tensors on the GPU makes what the GPU is given from then on wait, not the host: an error
/// of the way shows when the host next waits for the GPU. The ranks compare calls before they start, as
/// always; but the buckets of gradients were compared once for all and leave without the hosts meeting, so
/// they can be part of a captured step.
///
/// When a rank fails, or the way to it, NCCL's operations are ended and every rank gets an Error that says
/// why. A rank that does not come is the business of the watchdog (watchdog.h), which sees steps on the GPU
/// as operations.
#pragma once

#include <memory>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// Collective. A UsageError on every rank when one of them has no GPU of its own or no NCCL.
RONDE_API std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& gpu);

/// Behind a training step: as far as the watchdog is concerned, the ranks meet here. At most one step is then
/// under way on a GPU. Nothing for other communicators.
RONDE_API void mark_gpu_step(Communicator& communicator);

}  // namespace ronde::inline v0
