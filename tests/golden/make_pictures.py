#!/usr/bin/env python3
"""Writes pictures_pillow.npz: small PNG and JPEG files, and what Pillow makes of them. Needs numpy and Pillow.

NAME           the bytes of a file
NAME.pixels    (h, w, 1 or 3) as decode_image promises them
resize.HxW     NAME "resize" resized by Pillow's BILINEAR
"""

import io
import struct
import zlib

import numpy as np
from PIL import Image

h, w = 9, 13
random = np.random.default_rng(7)
y, x = np.mgrid[0:h, 0:w]
smooth = np.stack([x * 19, y * 28, (x + y) * 12], -1).astype(np.uint8)
noise = random.integers(0, 256, (h, w, 3), np.uint8)
arrays = {}


def png(pixels, color, depth=8, interlaced=False, chunks=()):
    """A PNG file, for what Pillow does not write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def rows(part):
        return b"".join(b"\0" + row.astype(">u2" if depth == 16 else "u1").tobytes() for row in part)

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    if interlaced:
        parts = [pixels[top::down, left::right] for top, left, down, right in passes]
        data = b"".join(rows(part) for part in parts if part.size)
    else:
        data = rows(pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], depth, color, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*c) for c in chunks)
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def save(picture, format, **options):
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()


def keep(name, file, pixels=None):
    """Without pixels: those that Pillow decodes, as RGB or grey."""
    if pixels is None:
        picture = Image.open(io.BytesIO(file))
        pixels = np.asarray(picture.convert("L" if picture.mode in ("L", "1") else "RGB"))
    arrays[name] = np.frombuffer(file, np.uint8)
    arrays[name + ".pixels"] = pixels.reshape(*pixels.shape[:2], -1).astype(np.uint8)


rgb, grey = Image.fromarray(noise), Image.fromarray(noise[:, :, 0])
keep("rgb.png", save(rgb, "PNG"))
keep("grey.png", save(grey, "PNG"))
keep("palette.png", save(rgb.quantize(16), "PNG"))
keep("one_bit.png", save(grey.convert("1"), "PNG"))
keep("interlaced.png", png(noise, 2, interlaced=True))
keep("gamma.png", png(noise, 2, chunks=[(b"gAMA", struct.pack(">I", 100000))]))

alpha = random.integers(0, 256, (h, w, 1), np.uint8)
alpha[0], alpha[1] = 0, 255
on_black = np.rint(noise * (alpha / 255.0))
keep("rgba.png", save(Image.fromarray(np.concatenate([noise, alpha], -1)), "PNG"), on_black)
keep("grey_alpha.png", png(np.concatenate([noise[:, :, :1], alpha], -1), 4), on_black[:, :, :1])
deep = random.integers(0, 65536, (h, w, 3), np.uint16)
keep("rgb16.png", png(deep, 2, depth=16), np.rint(deep / 257.0))
keep("grey16.png", png(deep[:, :, :1], 0, depth=16), np.rint(deep[:, :, :1] / 257.0))

photo = Image.fromarray(smooth)
keep("rgb.jpg", save(photo, "JPEG", quality=90))
keep("progressive.jpg", save(photo, "JPEG", quality=80, progressive=True))
keep("grey.jpg", save(photo.convert("L"), "JPEG", quality=90))
keep("inks.jpg", save(photo.convert("CMYK"), "JPEG", quality=95))

arrays["to_grey"] = np.asarray(rgb.convert("L"))[:, :, None]  # of rgb.png
source = Image.fromarray(random.integers(0, 256, (11, 17, 3), np.uint8))
keep("resize", save(source, "PNG"))
for height, width in [(5, 7), (23, 31), (11, 40), (3, 17), (1, 1), (64, 64)]:
    resized = source.resize((width, height), Image.Resampling.BILINEAR)
    arrays[f"resize.{height}x{width}"] = np.asarray(resized)
small = Image.fromarray(noise[:, :, 0]).resize((5, 4), Image.Resampling.BILINEAR)
arrays["resize_grey.4x5"] = np.asarray(small)[:, :, None]  # of grey.png

np.savez_compressed("pictures_pillow.npz", **arrays)
