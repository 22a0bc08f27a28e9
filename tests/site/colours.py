"""Colours as eyes see them: OKLCH to sRGB, contrast, missing cones, and how far two colours lie apart. Pure arithmetic.

OKLab: Björn Ottosson 2020. Contrast: WCAG 2.2. Missing cones: Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
CIEDE2000: CIE 142-2001, in the notation of Sharma, Wu and Dalal 2005.
"""

import math
import re
from pathlib import Path
from typing import NamedTuple

Triple = tuple[float, float, float]


class Oklch(NamedTuple):
    """Lightness from 0 to 1, chroma, hue in degrees."""

    lightness: float
    chroma: float
    hue: float


VISIONS: dict[str, tuple[Triple, Triple, Triple]] = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def times(matrix: tuple[Triple, Triple, Triple], vector: Triple) -> Triple:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return (first, second, third)


def linear_rgb(colour: Oklch) -> Triple:
    """Linear light of sRGB's primaries, outside 0 to 1 where sRGB cannot show the colour."""
    a = colour.chroma * math.cos(math.radians(colour.hue))
    b = colour.chroma * math.sin(math.radians(colour.hue))
    cones = (
        (colour.lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
        (colour.lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
        (colour.lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3,
    )
    to_rgb = (
        (4.0767416621, -3.3077115913, 0.2309699292),
        (-1.2684380046, 2.6097574011, -0.3413193965),
        (-0.0041960863, -0.7034186147, 1.7076147010),
    )
    return times(to_rgb, cones)


def oklab(linear: Triple) -> Triple:
    to_cones = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    to_lab = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )
    first, second, third = (math.cbrt(cone) for cone in times(to_cones, linear))
    return times(to_lab, (first, second, third))


def seen(linear: Triple, vision: str) -> Triple:
    """The colour as that vision sees it, kept within what a screen shows."""
    red, green, blue = (min(1.0, max(0.0, channel)) for channel in times(VISIONS[vision], linear))
    return (red, green, blue)


def contrast(one: Oklch, other: Oklch) -> float:
    """WCAG's ratio of two opaque colours, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Oklch) -> float:
    red, green, blue = seen(linear_rgb(colour), "all cones")
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def distance(one: Oklch, other: Oklch, vision: str) -> float:
    """How far apart that vision sees them, in OKLab; 0.02 is about the least that people see."""
    return math.dist(*(oklab(seen(linear_rgb(colour), vision)) for colour in (one, other)))


def ciede2000(one: Oklch, other: Oklch, vision: str) -> float:
    """The same as CIEDE2000; 1 is about the least that people see."""
    (l1, a1, b1), (l2, a2, b2) = (_cielab(seen(linear_rgb(colour), vision)) for colour in (one, other))
    return delta_e((l1, a1, b1), (l2, a2, b2))


def _cielab(linear: Triple) -> Triple:
    to_xyz = ((0.4123908, 0.3575843, 0.1804808), (0.2126390, 0.7151687, 0.0721923), (0.0193308, 0.1191948, 0.9505322))
    white = (0.9504559, 1.0, 1.0890578)
    x, y, z = (
        math.cbrt(value / of) if value / of > 216 / 24389 else (24389 / 27 * value / of + 16) / 116
        for value, of in zip(times(to_xyz, linear), white, strict=True)
    )
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))


def delta_e(one: Triple, other: Triple) -> float:
    """CIEDE2000 of two CIELAB colours."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - math.sqrt(mean_c7 / (mean_c7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 if (a or b) else 0.0 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    big_h = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    mean_h = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(mean_h - 30))
        + 0.24 * math.cos(math.radians(2 * mean_h))
        + 0.32 * math.cos(math.radians(3 * mean_h + 6))
        - 0.20 * math.cos(math.radians(4 * mean_h - 63))
    )
    s_l = 1 + 0.015 * (mean_l - 50) ** 2 / math.sqrt(20 + (mean_l - 50) ** 2)
    s_c, s_h = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    rotation = -2 * math.sqrt(mean_c**7 / (mean_c**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((mean_h - 275) / 25) ** 2))))
    light, chroma, hue = (l2 - l1) / s_l, (c2 - c1) / s_c, big_h / s_h
    return math.sqrt(light**2 + chroma**2 + hue**2 + rotation * chroma * hue)


def read_tokens(path: Path) -> dict[str, dict[str, Oklch]]:
    """The opaque colours of the sheet by scheme ("light", "dark") and name."""
    text = path.read_text()
    schemes: dict[str, dict[str, Oklch]] = {"light": {}, "dark": {}}
    colour = r"oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)"
    for name, *figures in re.findall(rf"--([\w-]+): light-dark\({colour}, {colour}\);", text):
        for scheme, three in (("light", figures[:3]), ("dark", figures[3:])):
            schemes[scheme][name] = Oklch(float(three[0]) / 100, float(three[1]), float(three[2]))
    for name, *figures in re.findall(rf"--([\w-]+): {colour};", text):
        for scheme in schemes:
            schemes[scheme][name] = Oklch(float(figures[0]) / 100, float(figures[1]), float(figures[2]))
    return schemes
