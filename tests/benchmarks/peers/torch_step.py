"""A training step of the reference nets in PyTorch; data and weights stay where they are."""

import os
import time

begin = time.perf_counter()
import torch
from torch import nn

import_seconds = time.perf_counter() - begin

from measure import Alone, arguments, report


def conv(channels, filters, padding=0):
    return [nn.Conv2d(channels, filters, 3, padding=padding), nn.ReLU()]


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut, as in models/cifar_resnet.h."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(channels, filters, 3, stride, 1), nn.BatchNorm2d(filters), nn.ReLU(),
                                  nn.Conv2d(filters, filters, 3, 1, 1), nn.BatchNorm2d(filters))
        self.shortcut = nn.Conv2d(channels, filters, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.main(x))


def resnet20():
    blocks = [Block(c, f, s) for c, f, s in 3 * [(16, 16, 1)] + [(16, 32, 2)] + 2 * [(32, 32, 1)]
              + [(32, 64, 2)] + 2 * [(64, 64, 1)]]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def normalised(channels, filters, kernel, stride):
    """As in models/resnet.h."""
    return [nn.Conv2d(channels, filters, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(filters)]


class BasicBlock(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.main = nn.Sequential(*normalised(channels, filters, 3, stride), nn.ReLU(),
                                  *normalised(filters, filters, 3, 1))
        self.shortcut = nn.Sequential(*normalised(channels, filters, 1, stride)) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.main(x))


def resnet18():
    blocks = [BasicBlock(c, f, s) for c, f, s in [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
                                                  (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]]
    return nn.Sequential(*normalised(3, 64, 3, 1), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Recurrent(nn.Module):
    """The class of a sequence, by the state behind its last step."""

    def __init__(self, kind):
        super().__init__()
        self.steps, self.classes = kind(64, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.classes(self.steps(x)[0][:, -1])


RECURRENT = {"lstm": nn.LSTM, "gru": nn.GRU}


def net_of(name):
    if "." in name:
        raise SystemExit("not measured: PyTorch reads no file of Keras")
    if name in RECURRENT:
        return Recurrent(RECURRENT[name])
    if name.startswith("resnet"):
        return {"resnet20": resnet20, "resnet18": resnet18}[name]()
    if name == "mnist":
        return nn.Sequential(*conv(1, 32), *conv(32, 64), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                             nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
    return nn.Sequential(*conv(3, 32, 1), *conv(32, 32), nn.MaxPool2d(2), nn.Dropout(0.25),
                         *conv(32, 64, 1), *conv(64, 64), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                         nn.Linear(2304, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10))


class NoExchange(Alone):
    def prepare(self, net, optimizer):
        """What to call instead of the net, and the optimizer to use instead."""
        return net, optimizer


class Ddp:
    """PyTorch's own DistributedDataParallel, over Gloo, on one machine."""

    def __init__(self):
        self.rank, self.size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        port = os.environ.get("MASTER_PORT", "29500")
        torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=self.rank, world_size=self.size)

    def prepare(self, net, optimizer):
        return nn.parallel.DistributedDataParallel(net), optimizer

    def most(self, value):
        values = torch.tensor([value], dtype=torch.float64)
        torch.distributed.all_reduce(values, torch.distributed.ReduceOp.MAX)
        return values.item()


def optimizer_of(name, weights):
    if name == "mnist":
        return torch.optim.Adam(weights, 1e-3)
    return torch.optim.RMSprop(weights, 1e-4) if name == "cifar10" else torch.optim.SGD(weights, 0.01, momentum=0.9)


def run(options, exchange, import_seconds, version):
    torch.set_num_threads(options.threads)
    is_bf16 = options.mode.endswith("bf16")
    # Horovod takes dense tensors only.
    is_dense = options.mode in ("eager", "compile", "torch", "torch_bf16") or options.net in RECURRENT
    layout = torch.contiguous_format if is_dense else torch.channels_last
    shape = (50, 64) if options.net in RECURRENT else (1, 28, 28) if options.net == "mnist" else (3, 32, 32)
    net = net_of(options.net).to(memory_format=layout)
    images = torch.rand(options.batch, *shape).to(memory_format=layout)
    labels = torch.randint(10, (options.batch,))
    forward, optimizer = exchange.prepare(net, optimizer_of(options.net, net.parameters()))
    forward = torch.compile(forward) if options.mode == "compile" else forward
    loss_of = nn.CrossEntropyLoss()

    def train():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
            loss = loss_of(forward(images).float(), labels)
        loss.backward()
        optimizer.step()

    def evaluate():
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
            forward(images)

    if options.evaluate:
        net.eval()
    report(options, evaluate if options.evaluate else train, options.batch, import_seconds, version, exchange)


if __name__ == "__main__":
    wanted = arguments(["eager", "channels_last", "compile", "bf16", "ddp", "ddp_bf16"])
    run(wanted, Ddp() if wanted.mode.startswith("ddp") else NoExchange(), import_seconds,
        f"PyTorch {torch.__version__}")
