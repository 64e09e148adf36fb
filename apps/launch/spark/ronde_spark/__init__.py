"""Ronde programs as barrier jobs of Spark, as HorovodRunner ran Keras.

    from ronde_spark import RondeRunner
    results = RondeRunner(np=4).run("train_cifar10", "--epochs", "25", dir="/dbfs/run7")
    open("model.h5", "wb").write(results[0].model)
"""

from .outcome import RankResult, RondeError
from .runner import RondeRunner

__all__ = ["RankResult", "RondeError", "RondeRunner"]
