"""Option values: they convert to and from JSON, and resolve templates into a copy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import is_template, known_too_late, requiring_value
from airflow_provider_blockread.options.parsing.texts import from_text, truth

_KINDS: dict[str, type[Value]] = {}

_HINTS: dict[type, dict[str, Any]] = {}  # of the fields of options, by class
_WORDS: Mapping[object, str] = {
    bool: "True or False",
    str: "text",
    bytes: "bytes",
    Sequence: "a list",
    Mapping: "a mapping",
    NoneType: "",
}

_INSTEAD = "let a task return all of an operator's option, as a FileSource or a Selection, and pass that on"

V = TypeVar("V", bound="Value")

#: Metadata of a field that is left out of JSON, and is not a template.
PRIVATE = {"private": True}


class Value:
    """A frozen option value; subclasses are dataclasses with a `kind`."""

    kind: ClassVar[str] = ""

    def __new__(cls, *values: object, **options: object) -> Self:
        """Refuse a word that is not among an option's words, and types that Python would misread, as `"false"` as true.

        Raises:
            OptionsError: with the option's name.
        """
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        positional = [f.name for f in fields if f.init and not f.kw_only]
        hints = _hints(cls)
        for name, value in {**dict(zip(positional, values, strict=False)), **options}.items():
            if what := known_too_late(value, hints.get(name)):
                msg = f"{cls.kind}: {name} cannot be {what} {_INSTEAD}"
                raise OptionsError(msg)
            if name in hints and (wanted := _misfit(value, hints[name])):
                is_word = hints[name] is bool or get_origin(hints[name]) is Literal
                said = repr(value) if is_word else f"a value of type {type(value).__name__}"
                msg = f"{cls.kind}: {name} must be {wanted}, not {said}{_as_list(value, wanted)}"
                raise OptionsError(msg)
            if name in hints and (kind := _no_text(value, hints[name])):
                msg = f"{cls.kind}: {name} must list texts, but has a value of type {kind}; convert it by str()"
                raise OptionsError(msg)
        return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        """Register the kind for `from_json`."""
        super().__init_subclass__()
        if cls.kind:
            _KINDS[cls.kind] = cls

    def to_json(self) -> dict[str, Any]:
        """Return this value as JSON objects, arrays and scalars, for `from_json`."""
        return {"kind": self.kind} | {name: _encode(getattr(self, name)) for name in _public(type(self))}

    @property
    def serialize(self) -> Callable[[], dict[str, Any]]:
        """What Airflow calls to write an XCom.

        It is no method, since Airflow shows what methods of this name return among a task's rendered fields, and with
        it values that are left out of the text of options.
        """
        return self.to_json

    @staticmethod
    def deserialize(data: Mapping[str, Any], version: int) -> Value:
        """Return the value that Airflow has read from an XCom.

        Raises:
            OptionsError: as `from_json` does.
        """
        del version
        return from_json(data)

    def resolve(self, render: Callable[[str], str]) -> Self:
        """Return a copy with every string rendered, as by Airflow's Jinja.

        Raises:
            OptionsError: when a template has no value, or that of a boolean option is neither true nor false.
        """
        hints, rendered = _hints(type(self)), {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = _render(getattr(self, field.name), requiring_value(self.kind, field.name, render))
            is_flag = isinstance(value, str) and hints[field.name] is bool
            rendered[field.name] = truth(field.name, value) if is_flag else value
        return type(self)(**rendered)


def _misfit(value: object, hint: object) -> str:
    """Return what a value must be to fit a type hint, in words; an empty string if it fits, or is not checked.

    Numbers are not checked here: options check their ranges themselves.
    """
    accepted = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    words = [_word(one) for one in accepted]
    if None in words or any(_is_of(value, one) for one in accepted):
        return ""
    return " or ".join(filter(None, words))


def _as_list(value: object, wanted: str) -> str:
    """Return how to write a value as a list, as the end of an advice; an empty string if no list is wanted."""
    if not wanted.endswith(_WORDS[Sequence]) or not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        return ""
    if isinstance(value, str):
        return f"; write [{value!r}]"
    return "; convert it by sorted()"


def _no_text(value: object, hint: object) -> str:
    """Return the type of the first item that is no text, if a hint asks for a list of texts; empty without such one."""
    accepted = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if Sequence[str] not in accepted or not isinstance(value, (list, tuple)):
        return ""
    return next((type(item).__name__ for item in value if not isinstance(item, str)), "")


def _word(hint: Any) -> str | None:  # noqa: ANN401 - any hint of a field
    """Return a type in words (an empty string for None), or None for types that are not checked."""
    if isinstance(hint, type) and issubclass(hint, Value):
        return f"a {hint.__name__}"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    return _WORDS.get(get_origin(hint) or hint)


def _is_of(value: object, hint: Any) -> bool:  # noqa: ANN401 - as above
    kind = get_origin(hint) or hint
    if kind is Literal:
        return value in get_args(hint)
    if kind is Sequence:
        return isinstance(value, (list, tuple))  # a set has another order in each process, an iterator only one use
    if kind is bool and isinstance(value, str):
        return is_template(value)
    return isinstance(value, kind)


def _hints(cls: type[Value]) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def all_kinds() -> Collection[type[Value]]:
    """Return the classes of all options."""
    return _KINDS.values()


def choices_of(cls: type[Value], option: str) -> tuple[str, ...]:
    """Return the words that an option accepts."""
    return get_args(_hints(cls)[option])


def from_json(data: Mapping[str, Any]) -> Value:
    """Return the value from which `to_json` made these data.

    Raises:
        OptionsError: when the kind or one of its fields is unknown.
    """
    kind = data.get("kind")
    if kind not in _KINDS:
        msg = f"unknown kind of option {kind!r}; known are {', '.join(sorted(_KINDS))}"
        raise OptionsError(msg)
    return build(_KINDS[kind], {k: _decode(v) for k, v in data.items() if k != "kind"})


def build(cls: type[V], options: Mapping[str, Any]) -> V:
    """Return `cls(**options)`, or refuse an unknown option by name.

    Raises:
        OptionsError: when an option is unknown or missing; the message lists the known ones.
    """
    known = _public(cls)
    unknown = sorted(set(options) - set(known))
    if unknown:
        msg = f"{cls.kind} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}"
        raise OptionsError(msg)
    try:
        return cls(**options)
    except TypeError as error:
        msg = f"{cls.kind}: {error}"
        raise OptionsError(msg) from error


def parse(cls: type[V], texts: Mapping[str, str]) -> V:
    r"""Return `cls` from options given as text, as on a command line.

    In options that take bytes, `\n`, `\r`, `\t`, `\0`, `\\` and `\xNN` are escapes, and blank text is None if the
    option may be None.

    Raises:
        OptionsError: when an option is unknown, or its text is not of the option's type.
    """
    return build(cls, parse_options(cls, texts))


def parse_options(cls: type[V], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return options given as text, converted to the values that `cls` takes.

    Raises:
        OptionsError: when a text is not of its option's type.
    """
    hints = _hints(cls)
    return {name: from_text(name, text, hints.get(name, str)) for name, text in texts.items()}


def _public(cls: type[Value]) -> list[str]:
    """Return the names of the fields that JSON contains."""
    return [f.name for f in dataclasses.fields(cls) if "private" not in f.metadata]  # type: ignore[arg-type]


def _encode(value: object) -> object:
    if isinstance(value, Value):
        return value.to_json()
    if isinstance(value, bytes):
        return {"kind": "bytes", "latin1": value.decode("latin-1")}
    if isinstance(value, (tuple, list)):
        return [_encode(v) for v in value]
    if isinstance(value, Mapping):
        return {"kind": "map", "items": {str(k): _encode(v) for k, v in value.items()}}
    return value


def _decode(value: object) -> object:
    if isinstance(value, Mapping):
        if value.get("kind") == "bytes":
            return str(value["latin1"]).encode("latin-1")
        if value.get("kind") == "map":
            return {k: _decode(v) for k, v in value["items"].items()}
        return from_json(value)
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value


def _render(value: Any, render: Callable[[str], str]) -> Any:  # noqa: ANN401 - any field of any option
    if isinstance(value, str):
        return render(value)
    if isinstance(value, Value):
        return value.resolve(render)
    if isinstance(value, (tuple, list)):
        return tuple(_render(v, render) for v in value)
    if isinstance(value, Mapping):
        return {_render(k, render): _render(v, render) for k, v in value.items()}
    return value
