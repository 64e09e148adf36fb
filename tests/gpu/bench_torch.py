"""Images a second of PyTorch on the nets of train_mnist and train_cifar10: `bench_torch.py eager`, or `compile` for
torch.compile with CUDA graphs. A line for each net and precision, as it comes: net, precision, how, images a second.

One batch lies on the GPU all the time. float32 is without TF32, as Ronde's default; mixed_bfloat16 is autocast. The
optimizer's step is outside what is compiled."""

import sys
import time

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
DEVICE = "cuda"
WARM_UP, STEPS = 30, 500


def mnist():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(128, 10)), (1, 28, 28), 128, lambda p: torch.optim.Adadelta(p, lr=0.1)


def cifar10():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.Linear(2304, 512), nn.ReLU(),
                         nn.Dropout(0.5), nn.Linear(512, 10)), (3, 32, 32), 32, lambda p: torch.optim.RMSprop(p, lr=1e-4)


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def rate(make, precision, how):
    torch.manual_seed(1)
    net, shape, batch, optimizer = make()
    net = net.to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = optimizer(net.parameters())
    x = torch.rand(batch, *shape, device=DEVICE).contiguous(memory_format=torch.channels_last)
    y = torch.randint(10, (batch,), device=DEVICE)
    forward = torch.compile(net, mode="max-autotune") if how == "compile" else net

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=precision == "mixed_bfloat16"):
            loss = nn.functional.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    wait()
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    wait()
    return STEPS * batch / (time.perf_counter() - begin)


if __name__ == "__main__":
    if sys.argv[1:] not in (["eager"], ["compile"]):
        sys.exit("usage: bench_torch.py eager|compile")
    for make in mnist, cifar10:
        for precision in "float32", "mixed_bfloat16":
            print(make.__name__, precision, sys.argv[1], round(rate(make, precision, sys.argv[1])), flush=True)
