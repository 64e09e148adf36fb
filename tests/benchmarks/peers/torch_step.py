"""A training step of the reference nets in PyTorch; data and weights stay where they are."""

import time

begin = time.perf_counter()
import torch
from torch import nn

import_seconds = time.perf_counter() - begin

from measure import arguments, report


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


def net_of(name):
    if name == "resnet20":
        return resnet20()
    if name == "mnist":
        return nn.Sequential(*conv(1, 32), *conv(32, 64), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                             nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
    return nn.Sequential(*conv(3, 32, 1), *conv(32, 32), nn.MaxPool2d(2), nn.Dropout(0.25),
                         *conv(32, 64, 1), *conv(64, 64), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                         nn.Linear(2304, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10))


def main():
    options = arguments(["eager", "channels_last", "compile", "bf16"])
    torch.set_num_threads(options.threads)
    net = net_of(options.net)
    shape = (1, 28, 28) if options.net == "mnist" else (3, 32, 32)
    images, labels = torch.rand(options.batch, *shape), torch.randint(10, (options.batch,))
    optimizer = {"mnist": lambda w: torch.optim.Adam(w, 1e-3), "cifar10": lambda w: torch.optim.RMSprop(w, 1e-4),
                 "resnet20": lambda w: torch.optim.SGD(w, 0.01, momentum=0.9)}[options.net](net.parameters())
    if options.mode in ("channels_last", "bf16"):
        net, images = net.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    forward = torch.compile(net) if options.mode == "compile" else net
    loss_of = nn.CrossEntropyLoss()

    def train():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.mode == "bf16"):
            loss = loss_of(forward(images).float(), labels)
        loss.backward()
        optimizer.step()

    def evaluate():
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=options.mode == "bf16"):
            forward(images)

    if options.evaluate:
        net.eval()
    report(options, evaluate if options.evaluate else train, options.batch, import_seconds)


main()
