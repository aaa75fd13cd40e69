"""What a command is about to do, in the same words for people, in JSON and in tasks' logs."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options.parsing.sizes import first_of
from airflow_provider_blockread.steps.model import AsJson

_SHOWN = 20  # lines about windows
_KEYS = 3  # of windows about which a line says the same


@dataclass(frozen=True, kw_only=True)
class WindowIntent:
    """What will be done about one window, or why nothing will be."""

    window: str
    key: str
    feed: str
    what: str
    does: bool = True  # False if the window is left as it is
    warnings: tuple[str, ...] = ()  # why it will fail, or what to check first


@dataclass(frozen=True, kw_only=True)
class Intent(AsJson):
    """What a command is about to do, window by window; `notes` concern all of them."""

    action: str  # abandon | undo | exclude | rebuild | reprocess | prune | clean | restore
    windows: tuple[WindowIntent, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be done."""
        return not any(window.does for window in self.windows)

    def lines(self) -> list[str]:
        """Return the intent as lines of text; windows that are left alone come last, one line for each reason."""
        left: dict[tuple[str, str], list[WindowIntent]] = {}
        for window in self.windows:
            if not window.does:
                left.setdefault((window.feed, window.what), []).append(window)
        alike = [*([window] for window in self.windows if window.does), *left.values()]
        lines = [_line(windows) for windows in alike[:_SHOWN]]
        if len(alike) > _SHOWN:
            lines.append(f"and {sum(map(len, alike[_SHOWN:])):,} more windows")
        return [*([f"{self.action}: nothing to do"] if self.is_empty else []), *lines, *self.notes]

    def all_warnings(self) -> list[str]:
        """Return why it may fail, window by window, and what else to check first."""
        of_windows = [
            f"window {w.window} {w.key!r} of feed {w.feed}: {text}" for w in self.windows for text in w.warnings
        ]
        return [*of_windows, *self.warnings]

    def report(self, observer: Observer) -> None:
        """Report each line of the intent, and each warning."""
        for line in self.lines():
            observer.log(line)
        for warning in self.all_warnings():
            observer.warn(warning)


def _line(windows: list[WindowIntent]) -> str:
    """Return a line about a window, or about several of a feed about which it says the same."""
    first = windows[0]
    if len(windows) == 1:
        return f"window {first.window} {first.key!r} of feed {first.feed}: {first.what}"
    keys = first_of((repr(window.key) for window in windows), _KEYS)
    return f"{len(windows):,} windows of feed {first.feed} ({keys}), each {first.what}"


def window_intent(window: Window, what: str, *, does: bool = True, warnings: tuple[str, ...] = ()) -> WindowIntent:
    """Return what will be done about a window."""
    return WindowIntent(window=window.id, key=window.key, feed=window.feed, what=what, does=does, warnings=warnings)
