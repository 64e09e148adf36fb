"""onnx' and onnxruntime's part of the test of files: `onnx_side.py DIR` checks and runs each net.onnx."""

import pathlib
import sys

import numpy
import onnx
import onnxruntime

TOLERANCE = 1e-5
failures = []
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    io = numpy.load(path / "io.npz")
    for name, expected in ("net.onnx", io["output"]), ("fresh.onnx", io["fresh_output"]):
        onnx.checker.check_model(onnx.load(path / name), full_check=True)
        session = onnxruntime.InferenceSession(str(path / name), providers=["CPUExecutionProvider"])
        for count in 1, len(io["input"]):  # the batch is open
            output = session.run(None, {"input": io["input"][:count]})[0]
            difference = numpy.abs(output - expected[:count]).max()
            if output.shape != expected[:count].shape or not difference <= TOLERANCE:
                failures.append(f"{path / name}: outputs differ by {difference}")
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
