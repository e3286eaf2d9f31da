"""Writes pictures/: small files of every kind that is read, and the RGB pixels that Pillow makes of them.

    pip install pillow==13.0.0 numpy
    python tests/golden/make_pictures.py

Expected pixels: EXIF orientation applied; composited over white if there is alpha or a transparent colour; RGB. Of a grey
picture of 16 bits the high byte is expected, where Pillow would turn all but the darkest grey to white.
"""

import hashlib
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

OUTPUT = Path(__file__).resolve().parent / "pictures"
WIDTH, HEIGHT = 53, 38
random = np.random.default_rng(20261202)


def picture(channels):
    """Smooth waves with noise, every channel its own, uint8 [HEIGHT, WIDTH, channels]."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [np.sin(x / (4 + c) + c) * 60 + np.cos(y / (3 + c)) * 50 + x + 2 * y for c in range(channels)]
    noise = random.normal(0, 12, (HEIGHT, WIDTH, channels))
    return np.clip(np.stack(waves, -1) + noise + 20, 0, 255).astype(np.uint8)


def image(mode):
    pixels = picture(len(mode))
    return Image.frombytes(mode, (WIDTH, HEIGHT), pixels.tobytes())


def exif(orientation):
    block = Image.Exif()
    block[274] = orientation
    return block


def png(samples, bits, colour, interlaced=False, **chunks):
    """A PNG of uint8 or uint16 samples [height, width, channels], unfiltered."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = samples.shape[:2]
    stored = samples.astype(">u2" if bits == 16 else np.uint8)
    starts = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    passes = [stored[y::dy, x::dx] for y, x, dy, dx in starts] if interlaced else [stored]
    rows = b"".join(b"\0" + row.tobytes() for part in passes if part.size for row in part)
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, int(interlaced))
    extra = b"".join(chunk(name.encode(), data) for name, data in chunks.items())
    parts = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def tiff(samples, photometric, extra_samples=None, big_endian=False, orientation=1):
    """An uncompressed TIFF of one strip; samples uint8 or uint16 [height, width, channels]."""
    end, height, width, channels = ">" if big_endian else "<", *samples.shape
    bits = samples.dtype.itemsize * 8
    data = samples.astype(samples.dtype.newbyteorder(end)).tobytes()
    entries = [(256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * channels), (259, 3, [1]), (262, 3, [photometric]),
               (273, 4, [8]), (274, 3, [orientation]), (277, 3, [channels]), (278, 4, [height]), (279, 4, [len(data)])]
    if extra_samples is not None:
        entries.append((338, 3, [extra_samples]))
    data += b"\0" * (len(data) % 2)
    after = 8 + len(data) + 2 + 12 * len(entries) + 4
    directory, values = struct.pack(end + "H", len(entries)), b""
    for tag, kind, numbers in entries:
        packed = struct.pack(end + ("H" if kind == 3 else "I") * len(numbers), *numbers)
        if len(packed) > 4:
            place, values = struct.pack(end + "I", after + len(values)), values + packed
        else:
            place = packed.ljust(4, b"\0")
        directory += struct.pack(end + "HHI", tag, kind, len(numbers)) + place
    header = (b"MM\0*" if big_endian else b"II*\0") + struct.pack(end + "I", 8 + len(data))
    return header + data + directory + b"\0\0\0\0" + values


def saved(im, kind, **options):
    file = io.BytesIO()
    im.save(file, kind, **options)
    return file.getvalue()


def files():
    rgb, rgba, grey, grey_alpha, cmyk = (image(mode) for mode in ["RGB", "RGBA", "L", "LA", "CMYK"])
    wide = random.integers(0, 65536, (HEIGHT, WIDTH, 4), dtype=np.uint16)
    palette = rgb.quantize(200)
    clear = rgb.quantize(200)
    clear.info["transparency"] = bytes(random.integers(0, 256, 200, dtype=np.uint8))
    bilevel = grey.convert("1")

    for name, sampling in [("444", 0), ("422", 1), ("420", 2)]:
        yield f"jpeg_{name}.jpg", saved(rgb, "JPEG", quality=85, subsampling=sampling)
    yield "jpeg_progressive_420.jpg", saved(rgb, "JPEG", quality=85, progressive=True)
    yield "jpeg_restart.jpg", saved(rgb, "JPEG", quality=85, restart_marker_blocks=3)
    yield "jpeg_rgb.jpg", saved(rgb, "JPEG", quality=85, keep_rgb=True)
    yield "jpeg_grey.jpg", saved(grey, "JPEG", quality=85)
    yield "jpeg_cmyk.jpg", saved(cmyk, "JPEG", quality=85)
    for orientation in range(1, 9):
        yield f"jpeg_exif_{orientation}.jpg", saved(rgb, "JPEG", quality=85, exif=exif(orientation))

    yield "png_grey.png", saved(grey, "PNG")
    yield "png_grey_alpha.png", saved(grey_alpha, "PNG")
    yield "png_bilevel.png", saved(bilevel, "PNG")
    yield "png_palette.png", saved(palette, "PNG")
    yield "png_palette_4_bit.png", saved(rgb.quantize(16), "PNG", bits=4)
    yield "png_palette_transparent.png", saved(clear, "PNG", transparency=clear.info["transparency"])
    yield "png_rgb.png", saved(rgb, "PNG")
    yield "png_rgba.png", saved(rgba, "PNG")
    yield "png_exif_6.png", saved(rgb, "PNG", exif=exif(6))
    few = picture(3) // 64 * 64
    yield "png_rgb_transparent_colour.png", png(few, 8, 2, tRNS=struct.pack(">HHH", *few[3, 3].tolist()))
    few = picture(1) // 32 * 32
    yield "png_grey_transparent_colour.png", png(few, 8, 0, tRNS=struct.pack(">H", int(few[5, 5, 0])))
    yield "png_interlaced.png", png(picture(3), 8, 2, interlaced=True)
    yield "png_rgb_16_bit.png", png(wide[..., :3], 16, 2)
    yield "png_rgba_16_bit.png", png(wide, 16, 6)
    yield "png_grey_alpha_16_bit.png", png(wide[..., :2], 16, 4)
    yield "png_grey_16_bit.png", png(wide[..., :1], 16, 0)

    yield "webp_lossy.webp", saved(rgb, "WEBP", quality=80)
    yield "webp_lossy_alpha.webp", saved(rgba, "WEBP", quality=80)
    yield "webp_lossless.webp", saved(rgb, "WEBP", lossless=True)
    yield "webp_lossless_alpha.webp", saved(rgba, "WEBP", lossless=True, exact=True)
    yield "webp_exif_8.webp", saved(rgb, "WEBP", quality=80, exif=exif(8))
    moving = [image("RGB") for _ in range(3)]
    yield "webp_animated.webp", saved(moving[0], "WEBP", save_all=True, append_images=moving[1:], lossless=True)

    yield "gif_palette.gif", saved(palette, "GIF")
    yield "gif_transparent.gif", saved(rgb.quantize(32), "GIF", transparency=5)
    yield "gif_animated.gif", saved(moving[0].quantize(64), "GIF", save_all=True, append_images=moving[1:])
    yield "gif_interlaced.gif", saved(palette, "GIF", interlace=1)

    yield "bmp_rgb.bmp", saved(rgb, "BMP")
    yield "bmp_palette.bmp", saved(palette, "BMP")
    yield "bmp_grey.bmp", saved(grey, "BMP")
    yield "bmp_bilevel.bmp", saved(bilevel, "BMP")
    yield "bmp_32_bit.bmp", saved(rgba, "BMP")

    yield "tiff_rgb.tif", saved(rgb, "TIFF")
    yield "tiff_rgb_lzw.tif", saved(rgb, "TIFF", compression="tiff_lzw")
    yield "tiff_rgb_deflate.tif", saved(rgb, "TIFF", compression="tiff_adobe_deflate")
    yield "tiff_rgb_packbits.tif", saved(rgb, "TIFF", compression="packbits")
    yield "tiff_rgba.tif", saved(rgba, "TIFF")
    yield "tiff_grey.tif", saved(grey, "TIFF")
    yield "tiff_grey_alpha.tif", saved(grey_alpha, "TIFF")
    yield "tiff_bilevel.tif", saved(bilevel, "TIFF")
    yield "tiff_bilevel_group4.tif", saved(bilevel, "TIFF", compression="group4")
    yield "tiff_cmyk.tif", saved(cmyk, "TIFF")
    yield "tiff_white_is_zero.tif", tiff(picture(1), 0)
    yield "tiff_rgb_16_bit.tif", tiff(wide[..., :3].copy(), 2)
    yield "tiff_rgb_16_bit_big_endian.tif", tiff(wide[..., :3].copy(), 2, big_endian=True)
    yield "tiff_grey_16_bit.tif", tiff(wide[..., :1].copy(), 1)
    for orientation in (3, 6, 7):
        yield f"tiff_orientation_{orientation}.tif", tiff(picture(3), 2, orientation=orientation)

    # Refused, so that no pixel is wrong: the manifest states nothing about these.
    yield "refused_palette.tif", saved(palette, "TIFF")
    yield "refused_premultiplied.tif", tiff(np.minimum(picture(4), picture(4)[..., 3:]), 2, extra_samples=1)
    yield "refused_extra_samples.tif", tiff(picture(4), 2, extra_samples=0)
    yield "refused_jpeg_inside.tif", saved(rgb, "TIFF", compression="jpeg")
    yield "refused_float.tif", saved(Image.fromarray(picture(1)[..., 0].astype(np.float32)), "TIFF")


def expected(data):
    im = Image.open(io.BytesIO(data))
    im.load()
    mode = im.mode
    im = ImageOps.exif_transpose(im)
    if mode.startswith("I;16"):
        return mode, np.repeat((np.array(im).astype(np.uint16) >> 8).astype(np.uint8)[..., None], 3, -1)
    if "A" in im.getbands() or "a" in im.getbands() or im.info.get("transparency") is not None:
        im = im.convert("RGBA")
        im = Image.alpha_composite(Image.new("RGBA", im.size, (255, 255, 255, 255)), im)
    return mode, np.array(im.convert("RGB"))


def main():
    OUTPUT.mkdir(exist_ok=True)
    manifest = {}
    for name, data in files():
        (OUTPUT / name).write_bytes(data)
        if name.startswith("refused_"):
            manifest[name] = {}
            continue
        mode, pixels = expected(data)
        height, width = pixels.shape[:2]
        sha256 = hashlib.sha256(pixels.tobytes()).hexdigest()
        manifest[name] = {"mode": mode, "width": width, "height": height, "sha256_rgb": sha256}
    # Pillow's rounding: every sample over white at every opacity, and every ink under every black.
    pairs = np.stack(np.meshgrid(np.arange(256), np.arange(256), indexing="ij"), -1).astype(np.uint8)
    opacity = Image.frombytes("LA", (256, 256), pairs.tobytes()).convert("RGBA")
    over = Image.alpha_composite(Image.new("RGBA", opacity.size, (255, 255, 255, 255)), opacity)
    inks = Image.frombytes("CMYK", (256, 256), np.repeat(pairs, [3, 1], -1).tobytes()).convert("RGB")
    tables = {
        "sample_by_alpha": hashlib.sha256(np.array(over)[..., 0].tobytes()).hexdigest(),
        "ink_by_black": hashlib.sha256(np.array(inks)[..., 0].tobytes()).hexdigest(),
    }
    text = json.dumps({"pictures": manifest, "sha256_tables": tables}, indent=1)
    (OUTPUT / "manifest.json").write_text(text + "\n")


main()
