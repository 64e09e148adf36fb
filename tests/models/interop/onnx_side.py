"""onnx' and onnxruntime's part of the test of files: `onnx_side.py DIR` checks and runs each net.onnx."""

import pathlib
import sys

import numpy
import onnx
import onnxruntime

TOLERANCE = 1e-5
failures = []


def run(session, rows):
    """Several inputs and outputs lie in rows one behind the other."""
    ports = session.get_inputs()
    if len(ports) == 1:
        return session.run(None, {"input": rows})[0]
    parts = numpy.split(rows, numpy.cumsum([numpy.prod(port.shape[1:]) for port in ports])[:-1].astype(int), axis=1)
    feed = {port.name: part.reshape([-1] + port.shape[1:]) for port, part in zip(ports, parts)}
    return numpy.concatenate([y.reshape(len(y), -1) for y in session.run(None, feed)], axis=1)


for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    io = numpy.load(path / "io.npz")
    for name, expected in ("net.onnx", io["output"]), ("fresh.onnx", io["fresh_output"]):
        onnx.checker.check_model(onnx.load(path / name), full_check=True)
        session = onnxruntime.InferenceSession(str(path / name), providers=["CPUExecutionProvider"])
        for count in 1, len(io["input"]):  # the batch is open
            output = run(session, io["input"][:count])
            difference = numpy.abs(output - expected[:count]).max()
            if output.shape != expected[:count].shape or not difference <= TOLERANCE:
                failures.append(f"{path / name}: outputs differ by {difference}")
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
