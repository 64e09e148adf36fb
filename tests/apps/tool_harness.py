"""For tests of `ronde`: a model trained for a moment, and pictures."""

import atexit
import base64
import functools
import json
import pathlib
import shutil
import struct
import tempfile
import zlib

import harness

# A bright bar where class 0 has it, as JPEG (28 x 28, grey).
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGB"
    "YUGBIUFRT/wAALCAAcABwBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIh"
    "MUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhI"
    "WGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APKf"
    "2XP+GE/+FE+Gf+Fy/wDJSf8ASv7V/wCQ7/z9S+T/AMev7n/U+V9z8fmzXlX7c/8AwzF/xRP/AAzj/wBP39vf8hT/AKd/s3/H9/28f6v/AIF/DX"
    "yrRRRRRRRRRRRRRX//2Q==")


def bar(label):
    """The picture of a class without noise; see harness.digits."""
    image = bytearray(28 * 28)
    for y in range(2 + 5 * (label // 2), 6 + 5 * (label // 2)):
        for x in range(2 + 14 * (label % 2), 12 + 14 * (label % 2)):
            image[28 * y + x] = 255
    return bytes(image)


def png(pixels, width, height, channels=1):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = width * channels
    rows = b"".join(b"\0" + pixels[y * row:(y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@functools.cache
def trained_run():
    """The directory of a short training, made once for all tests of a file."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="ronde-run-"))
    atexit.register(shutil.rmtree, directory)
    harness.write_mnist(directory / "data")
    run = directory / "run"
    result = harness.execute([harness.BIN / "train_mnist", "--data-dir", directory / "data", "--recipe", "tf2",
                              "--epochs", 2, "--steps-per-epoch", 16, "--batch-size", 32, "--dir", run,
                              "--checkpoint", "model.h5"], directory)
    assert result.status == 0, result
    return run


class ToolTest(harness.ProgramTest):
    """A model trained for a moment on such data is self.model, what its training wrote is in self.run_dir."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_dir = trained_run()
        cls.model = cls.run_dir / "model.h5"
        cls.results = json.loads((cls.run_dir / "metrics.json").read_text())

    def ronde(self, *words, ranks=1, env=None):
        launcher = [harness.MPIEXEC, "-np", ranks] if ranks > 1 else []
        return harness.execute([*launcher, harness.BIN / "ronde", *words], self.work, env)

    def done(self, *words, **options):
        result = self.ronde(*words, **options)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.complaints, [], result)
        return result.out

    def write(self, name, content):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def pictures_by_class(self, count=60):
        """The first test images as PNG files, in a folder for each class."""
        pixels, labels = harness.digits(128, 2)
        for i, label in enumerate(labels[:count]):
            self.write(f"photos/{label}/{i:03}.png", png(bytes(pixels[784 * i:784 * (i + 1)]), 28, 28))
        return self.work / "photos"
