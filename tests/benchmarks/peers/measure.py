"""What all peers do alike: time a step again and again, and print one line of JSON as ronde_bench does."""

import argparse
import json
import resource
import statistics
import time


class Alone:
    """One process. Others give the same for ranks that mpirun started, which train together."""

    rank, size = 0, 1

    def most(self, value):
        """Of all ranks."""
        return value


def arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", required=True, help="mnist, cifar10, resnet20, resnet18, lstm, gru or, of Keras, a file of one")
    parser.add_argument("--batch", type=int, required=True, help="of a rank")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--evaluate", action="store_true", help="forward passes instead of training steps")
    return parser.parse_args()


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def seconds_of_steps(step, seconds, ranks):
    """All ranks take the same number of steps. The first one has been taken."""
    usual = ranks.most(seconds_of(step))
    for _ in range(min(3, int(seconds / usual))):  # caches, memory that is kept; long steps have both by now
        usual = ranks.most(seconds_of(step))
    return [seconds_of(step) for _ in range(max(3, round(seconds / usual)))]


def report(options, step, images_per_call, import_seconds, version, ranks=Alone()):
    """`step` returns when its work is done; it processes `images_per_call` images on each rank."""
    first = seconds_of(step)
    times = seconds_of_steps(step, options.seconds, ranks)
    middle, best = ranks.most(statistics.median(times)), ranks.most(min(times))
    if ranks.rank != 0:
        return
    images = images_per_call * ranks.size
    print(json.dumps({
        "net": options.net, "batch": options.batch, "threads": options.threads, "ranks": ranks.size,
        "version": version, "images_per_second": round(images / middle, 1), "best": round(images / best, 1),
        "import_s": round(import_seconds, 2), "first_step_s": round(first, 3),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))
