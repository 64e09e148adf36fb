"""A step of a training on a GPU, launch by launch: `kernel_times.py TRACE`, where TRACE is what kernel_trace.cpp wrote.

A step is a replay of the graph that had most launches; what ran outside of graphs meanwhile belongs to it too. First a line
of the whole: launches a step, median time from one step's begin to the next one's, of which the GPU ran something. Then a
line for each launch in order: median time since the step's begin, median time it took, median time that the GPU had
nothing to do before it, blocks (or bytes of a copy), name."""

import bisect
import collections
import re
import statistics
import sys

Launch = collections.namedtuple("Launch", "begin end graph node size name")


def read(path):
    launches = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            begin, end, graph, node, blocks, moved, name = line.rstrip("\n").split("\t", 6)
            size = f"{moved} B" if blocks == "0" else f"{blocks} blocks"
            launches.append(Launch(int(begin), int(end), int(graph), int(node), size, name))
    return sorted(launches)


def replays(launches):
    """Of the graph with most launches: a list for each, with what lies between it and the one before."""
    counts = collections.Counter(launch.graph for launch in launches if launch.graph)
    if not counts:
        sys.exit("no graph was replayed in this trace")
    graph = counts.most_common(1)[0][0]
    steps, seen = [], collections.Counter()
    for launch in launches:
        if launch.graph != graph:
            continue
        number = seen[launch.node]
        seen[launch.node] += 1
        if number == len(steps):
            steps.append([])
        steps[number].append(launch)
    begins = [step[0].begin for step in steps]
    for launch in launches:
        number = bisect.bisect_left(begins, launch.begin)
        if not launch.graph and 0 < number < len(steps):
            steps[number].append(launch)
    return [sorted(step) for step in steps[1:]]


def busy(step):
    """Nanoseconds with something under way, and nanoseconds with nothing before each."""
    total, until, idle = 0, step[0].begin, []
    for launch in step:
        idle.append(max(0, launch.begin - until))
        total += max(0, launch.end - max(launch.begin, until))
        until = max(until, launch.end)
    return total, idle


def short(name):
    done = re.sub(r"\s+", " ", re.sub(r"ronde::v0::cuda::|\(anonymous namespace\)::|void ", "", name))
    return done if len(done) < 110 else f"{done[:70]}..{done[-38:]}"


def key(launch, seen):
    """The same in each step: a node, or which one of a name it is outside of the graph."""
    seen[launch.name] += 1
    return launch.node or (launch.name, seen[launch.name])


def report(steps):
    usual = statistics.mode(len(step) for step in steps)
    steps = [step for step in steps if len(step) == usual]
    rows = collections.defaultdict(list)
    for step in steps:
        seen = collections.Counter()
        for launch, idle in zip(step, busy(step)[1]):
            rows[key(launch, seen)].append((launch.begin - step[0].begin, launch.end - launch.begin, idle, launch))
    between = [b[0].begin - a[0].begin for a, b in zip(steps, steps[1:])]
    print(f"{usual} launches a step, {statistics.median(between) / 1e3:.1f} us from step to step, of which "
          f"{statistics.median(busy(step)[0] for step in steps) / 1e3:.1f} us with something under way; {len(steps)} steps")
    medians = [[statistics.median(of) / 1e3 for of in list(zip(*row))[:3]] + [row[0][3]] for row in rows.values()
               if len(row) > len(steps) / 2]
    for since, took, idle, launch in sorted(medians, key=lambda row: row[0]):
        print(f"{since:8.1f} {took:8.2f} us {idle:8.2f} us before  {launch.size:>14}  {short(launch.name)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: kernel_times.py TRACE")
    report(replays(read(sys.argv[1])))
