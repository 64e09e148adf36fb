"""What recording a timeline costs a training: processor time with one and without, in turn.

    python3 timeline_overhead.py PAIRS COMMAND...        # such as: 9 mpirun -np 2 train_mnist --epochs 1 --verbose 0

Processor time (user and system, of all processes) and not time on the clock, which other programs change.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile


def processor_seconds(command, environment):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return used() - before


def main():
    pairs, command = int(sys.argv[1]), sys.argv[2:]
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_TIMELINE")}
    all_seconds, ratios = [], []
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "timeline.json")
        sides = [plain, {**plain, "RONDE_TIMELINE": file}]
        for pair in range(pairs):
            first = pair % 2  # which side begins changes, for a machine may grow slower all the time
            seconds = [0.0, 0.0]
            for side in (first, 1 - first):
                seconds[side] = processor_seconds(command, sides[side])
            all_seconds.append(seconds)
            ratios.append(seconds[1] / seconds[0])
            print(f"{seconds[0]:.2f} s, with a timeline {seconds[1]:.2f} s: {100 * (ratios[-1] - 1):+.2f} %", flush=True)
        size = os.path.getsize(file)
    least = [min(side) for side in zip(*all_seconds)]
    print(f"median of {pairs} pairs: {100 * (statistics.median(ratios) - 1):+.2f} %; the least of each side, which others "
          f"disturbed least: {least[0]:.2f} s and {least[1]:.2f} s, {100 * (least[1] / least[0] - 1):+.2f} %; "
          f"a file of {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
