"""What all peers do alike: time a step again and again, and print one line of JSON as ronde_bench does."""

import argparse
import json
import resource
import statistics
import time


def arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", choices=["mnist", "cifar10", "resnet20"], required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--evaluate", action="store_true", help="forward passes instead of training steps")
    return parser.parse_args()


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def report(options, step, images_per_call, import_seconds):
    """`step` returns when its work is done; it processes `images_per_call` images."""
    first = seconds_of(step)
    for _ in range(3):  # tracing, caches, memory that is kept
        step()
    times, end = [], time.perf_counter() + options.seconds
    while time.perf_counter() < end or len(times) < 5:
        times.append(seconds_of(step))
    print(json.dumps({
        "net": options.net, "batch": options.batch, "threads": options.threads,
        "images_per_second": round(images_per_call / statistics.median(times)),
        "best": round(images_per_call / min(times)),
        "import_s": round(import_seconds, 2), "first_step_s": round(first, 3),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))
