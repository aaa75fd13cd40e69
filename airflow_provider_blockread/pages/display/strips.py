"""Strips of a feed's windows, a window's groups, or a file's blocks; `strips.html` draws them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_blockread.pages.display.words import GLYPHS

_ROOMY_UP_TO = 80  # segments; more are too narrow for a shape, and for lines between them
_LEAST = 0.004  # of the whole width, so that the smallest segment is visible
_WORST = ("failed", "stalled", "reading", "waiting", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of a strip; `label` says in words what its colour and width say."""

    kind: str  # the state that gives it its colour and shape
    label: str
    weight: float = 1.0  # its width relative to the others
    href: str | None = None
    full: float = 1.0  # how much of it is done, from 0 to 1
    tick: bool = False  # a red mark on top: bad records
    height: float = 0.0  # of its bar in a chart, from 0 to 1
    caption: str = ""  # below it
    sign: str = ""  # a shape that says more than the state


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A segment with its place, in percent of the width."""

    one: Segment
    x: float
    width: float
    glyph: str  # a shape for what the colour says, if there is room and need for one


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Segments in their places; `name` describes the strip for screen readers."""

    name: str
    pieces: tuple[Placed, ...]

    @property
    def is_dense(self) -> bool:
        """Whether its segments are too narrow for lines between them."""
        return len(self.pieces) > _ROOMY_UP_TO


def worst(states: Iterable[str]) -> str:
    """Return the state, of some groups or blocks, that needs attention most."""
    return min(states, key=lambda word: _WORST.index(word) if word in _WORST else len(_WORST))


def strip(segments: Sequence[Segment], name: str) -> Strip:
    """Return a strip whose segments have widths proportional to their weights."""
    whole = sum(one.weight for one in segments) or 1.0
    shares = [max(one.weight / whole, _LEAST) for one in segments]
    scale, x, pieces = 100 / (sum(shares) or 1.0), 0.0, []
    for one, share in zip(segments, shares, strict=True):
        plain = one.kind in {"published", "done"} or len(segments) > _ROOMY_UP_TO
        glyph = one.sign or ("" if plain else GLYPHS.get(one.kind, ""))
        pieces.append(Placed(one=one, x=round(x, 3), width=round(share * scale, 3), glyph=glyph))
        x += share * scale
    return Strip(name=name, pieces=tuple(pieces))


def bars(values: Collection[int], height: int) -> str:
    """Return the outline of a bar for each value that is not 0, one unit wide, as the data of an SVG path."""
    most = max(values, default=0) or 1
    tall = [max(round((height - 2) * value / most, 1), 1) if value else 0 for value in values]
    return "".join(f"M{place} {height}v-{bar:g}h.84v{bar:g}z" for place, bar in enumerate(tall) if bar)
