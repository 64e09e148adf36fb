"""Images a second of PyTorch on the nets of train_mnist and train_cifar10: eager, and compiled with CUDA graphs.
Data lie on the GPU; f32 without TF32, as Ronde's default. Prints one line."""

import time

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def mnist():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(128, 10)), (1, 28, 28), 128, lambda p: torch.optim.Adadelta(p, lr=0.1)


def cifar10():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.Linear(2304, 512), nn.ReLU(),
                         nn.Dropout(0.5), nn.Linear(512, 10)), (3, 32, 32), 32, lambda p: torch.optim.RMSprop(p, lr=1e-4)


def rate(make, compiled):
    net, shape, batch, optimizer = make()
    net = net.cuda().to(memory_format=torch.channels_last)
    optimizer = optimizer(net.parameters())
    x = torch.rand(batch, *shape, device="cuda").contiguous(memory_format=torch.channels_last)
    y = torch.randint(10, (batch,), device="cuda")
    forward = torch.compile(net, mode="max-autotune") if compiled else net

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(forward(x), y).backward()
        optimizer.step()

    for _ in range(30):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(500):
        step()
    torch.cuda.synchronize()
    return 500 * batch / (time.perf_counter() - begin)


print(", ".join(f"{make.__name__} {name} {rate(make, compiled):,.0f}" for make in (mnist, cifar10)
                for name, compiled in (("eager", False), ("max-autotune", True))))
