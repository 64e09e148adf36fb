"""A step of a training on a GPU, launch by launch: `kernel_times.py TRACE`, where TRACE is what kernel_trace.cpp wrote.
First a line of the whole: launches a step, median time from one step's begin to the next one's, of which the GPU ran
something. Then a line for each launch in order: median time since the step's begin, median time it took, median time that
the GPU had nothing to do before it, blocks (or bytes of a copy), name. A step is what is repeated in it."""

import re
import statistics
import sys

MOST = 400  # launches of a step


def read(path):
    launches = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            begin, end, blocks, moved, name = line.rstrip("\n").split("\t", 4)
            launches.append((int(begin), int(end), f"{moved} B" if blocks == "0" else f"{blocks} blocks", name))
    return sorted(launches)


def period(names):
    """The shortest with which the names are repeated, but for the odd one; 0 if there is none."""
    for length in range(2, min(MOST, len(names) // 3)):
        pairs = list(zip(names, names[length:]))
        if sum(a == b for a, b in pairs) > 0.999 * len(pairs):
            return length
    return 0


def training(launches, parts=20):
    """The part of the trace with the longest period, and that period: trials of engines have none, a test a shorter one."""
    size = max(1, len(launches) // parts)
    cut = [launches[i:i + size][:40 * MOST] for i in range(0, len(launches), size)]
    found = [(period([name for *_, name in part]), part) for part in cut]
    return max(found, key=lambda pair: pair[0])


def steps(launches, length):
    """Each begins with the launch before which the GPU waits longest: the host's turn, if there is one."""
    gaps = [[] for _ in range(length)]
    for i in range(1, len(launches)):
        gaps[i % length].append(launches[i][0] - launches[i - 1][1])
    first = max(range(length), key=lambda i: statistics.median(gaps[i]))
    return [launches[i:i + length] for i in range(first, len(launches) - length, length)]


def short(name):
    done = re.sub(r"\s+", " ", re.sub(r"ronde::v0::cuda::|\(anonymous namespace\)::|void ", "", name))
    return done if len(done) < 110 else f"{done[:70]}..{done[-38:]}"


def busy(step):
    """Nanoseconds with something under way."""
    total, until = 0, 0
    for begin, end, *_ in step:
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def report(all_steps):
    shape = [(blocks, name) for _, _, blocks, name in all_steps[0]]
    same = [step for step in all_steps if [name for *_, name in step] == [name for _, name in shape]]
    between = [b[0][0] - a[0][0] for a, b in zip(all_steps, all_steps[1:])]
    print(f"{len(shape)} launches a step, {statistics.median(between) / 1e3:.1f} us from step to step, of which "
          f"{statistics.median(busy(step) for step in same) / 1e3:.1f} us with something under way; {len(same)} steps")
    for i, (blocks, name) in enumerate(shape):
        since, took, idle = [], [], []
        for step in same:
            since.append(step[i][0] - step[0][0])
            took.append(step[i][1] - step[i][0])
            idle.append(step[i][0] - max(launch[1] for launch in step[:i]) if i else 0)
        values = [statistics.median(of) / 1e3 for of in (since, took, idle)]
        print("{:8.1f} {:8.2f} us {:8.2f} us before  ".format(*values) + f"{blocks:>14}  {short(name)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: kernel_times.py TRACE")
    repeated, chosen = training(read(sys.argv[1]))
    if not repeated:
        sys.exit("no step is repeated in this trace")
    report(steps(chosen, repeated))
