"""What Nsight Compute measured of each kernel: `kernel_times.py FILE`, where FILE is from
`ncu --csv --page raw --metrics gpu__time_duration.sum,dram__bytes.sum --log-file FILE`. A line for each kernel and grid,
in the order of their first launches: launches, median time, median bytes through the device's memory."""

import csv
import re
import statistics
import sys

UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3,
         "byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3}


def column(header, name):
    return next(i for i, title in enumerate(header) if title == name)


def table(lines):
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    header, units = rows[0], rows[1]
    name, grid, block = (column(header, title) for title in ("Kernel Name", "Grid Size", "Block Size"))
    time, moved = (column(header, metric) for metric in ("gpu__time_duration.sum", "dram__bytes.sum"))
    launches = {}
    for row in rows[2:]:
        values = launches.setdefault((row[name], row[grid], row[block]), [])
        values.append([float(row[i].replace(",", "")) * UNITS[units[i]] for i in (time, moved)])
    return launches


def short(name):
    return re.sub(r"\s+", " ", re.sub(r"ronde::v0::cuda::|\(anonymous namespace\)::|void ", "", name))[:90]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: kernel_times.py FILE")
    with open(sys.argv[1], encoding="utf-8") as file:
        launches = table(file)
    for (name, grid, block), values in launches.items():
        times, moved = zip(*values)
        print(f"{len(values):4} x {statistics.median(times):8.2f} us {statistics.median(moved):9.3f} MB  "
              f"{short(name)} {grid} {block}")
