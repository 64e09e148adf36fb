"""safetensors' part of the test of files: `safetensors_side.py DIR` compares net.safetensors with net.npz."""

import pathlib
import sys

import numpy
from safetensors.numpy import load_file

for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    tensors, arrays = load_file(path / "net.safetensors"), numpy.load(path / "net.npz")
    assert set(tensors) == set(arrays.files), path
    for name in arrays.files:
        assert tensors[name].dtype == arrays[name].dtype and numpy.array_equal(tensors[name], arrays[name]), name
