"""Writes schedules_keras3.15.1.json: Keras' learning-rate schedules as its files describe them, and their rates.

    python3 make_schedules.py OUTPUT.json      # with Keras 3.15.1 on any backend; Keras 2.15.0 gives the same rates

Keras computes them in float32. The positions stay clear of those where rounding decides which period it is.
"""
import itertools
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras

POSITIONS = [0, 1, 5, 10, 11, 25, 31, 69, 105, 300]


def cases():
    of = keras.optimizers.schedules
    yield of.CosineDecay(0.2, 100, alpha=0.1)
    yield of.CosineDecay(0.0, 100, alpha=0.1, warmup_target=0.2, warmup_steps=10)
    yield of.CosineDecay(0.05, 100, warmup_target=0.02, warmup_steps=10)
    for initial, alpha, target, steps in itertools.product((0.05, 0.0), (0.0, 0.1), (None, 0.0, 0.02, 0.2), (0, 11)):
        yield of.CosineDecay(initial, 60, alpha=alpha, warmup_target=target, warmup_steps=steps)
    yield of.CosineDecayRestarts(0.1, 10, t_mul=2.0, m_mul=0.5, alpha=0.01)
    yield of.CosineDecayRestarts(0.1, 10, t_mul=1.0, m_mul=0.9)
    for decay in (of.ExponentialDecay, of.InverseTimeDecay):
        for staircase in (False, True):
            yield decay(0.1, 10, 0.5, staircase=staircase)
    yield of.PiecewiseConstantDecay([10, 20], [0.01, 0.1, 0.001])
    yield of.PolynomialDecay(0.1, 10, 0.01, power=2.0, cycle=True)
    yield of.PolynomialDecay(0.1, 10, 0.01, power=0.5)


def main():
    record = {"keras": keras.__version__, "positions": POSITIONS,
              "schedules": [{"described": keras.optimizers.schedules.serialize(schedule),
                             "rates": [float(schedule(position)) for position in POSITIONS]} for schedule in cases()]}
    with open(sys.argv[1], "w") as file:  # a line for each
        file.write(json.dumps(record).replace('[{"', '[\n{"').replace('}, {"', '},\n{"') + "\n")


main()
