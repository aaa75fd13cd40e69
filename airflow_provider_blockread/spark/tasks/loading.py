"""Loading the user's function, by its import path or from its text, and where in its file an error was raised."""

from __future__ import annotations
import __future__

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from airflow_provider_blockread.errors import ExchangeError, FunctionError
from airflow_provider_blockread.options import FunctionCode, FunctionText
from airflow_provider_blockread.records.custom import load_object


def load_function(path: str | FunctionText) -> Callable[..., Any]:
    """Return the function that an option names.

    Raises:
        OptionsError: when it cannot be imported.
        ExchangeError: when its text is not the one that was planned; it is then not run at all.
        FunctionError: when this Python cannot compile or define it.
    """
    if isinstance(path, str):
        function: Callable[..., Any] = load_object(path, "function")
        return function
    code = path.code
    if code is None or code.digest != path.digest:
        msg = f"the text of function {path.name} is missing, or is not the one that was planned; clear the run"
        raise ExchangeError(msg)
    # No module has this name, so that Spark pickles what the function defines by value.
    names: dict[str, Any] = {"__name__": f"function {path.name}"}
    try:
        exec(_compiled(code), names)  # noqa: S102 - the user's code; only Airflow's side supplies it
        return names[path.name]  # type: ignore[no-any-return]
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else code.line
        what = error.msg if isinstance(error, SyntaxError) else error
        msg = (
            f"function {path.name} cannot be defined: {type(error).__name__}: {what}"
            f" ({PurePath(code.file).name}, line {line}); correct it and clear the run"
        )
        raise FunctionError(msg) from error


def place_in(file: str, error: BaseException) -> str:
    """Return the last place in a file in an error's traceback, as an error message adds it, or an empty string."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({PurePath(file).name}, line {own[-1].lineno})" if own else ""


def _compiled(code: FunctionCode) -> Any:  # noqa: ANN401 - a code object
    """Return the code with the line numbers of its file; annotations stay text, since their names are not imported."""
    head = "if True:\n" if code.text[:1].isspace() else ""
    lines = "\n" * (code.line - 1 - bool(head)) + head + code.text
    return compile(lines, code.file, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
