"""A training step of the reference nets in PyTorch under Horovod, on ranks that mpirun started."""

import time

begin = time.perf_counter()
import horovod
import horovod.torch as hvd

import_seconds = time.perf_counter() - begin

import torch
import torch_step
from measure import arguments


class Horovod:
    def __init__(self):
        hvd.init()
        self.rank, self.size = hvd.rank(), hvd.size()

    def prepare(self, net, optimizer):
        hvd.broadcast_parameters(net.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        return net, hvd.DistributedOptimizer(optimizer, named_parameters=net.named_parameters())

    def most(self, value):
        return max(hvd.allgather(torch.tensor([value], dtype=torch.float64)).tolist())


torch_step.run(arguments(["torch", "torch_bf16"]), Horovod(), import_seconds,
               f"Horovod {horovod.__version__}, PyTorch {torch.__version__}")
