"""Documents of the execution layer between Python and JSON text, so that no digit is lost on the way in."""

from __future__ import annotations

import decimal
import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A number is written without an exponent as long as that is not absurdly long.
_MOST_PLACES = 40


def text_of(value: object) -> str:
    """The JSON text of a value. A `str` is JSON text already and goes on as it is. A `Decimal` is a number with its digits.

    Raises `TypeError` for what has no JSON form.
    """
    if isinstance(value, str):
        return value
    return written(value)


def written(value: object) -> str:
    """As `text_of`, for a value that may itself be a text. Half a surrogate pair is written as its escape."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:
        # The encoder has no form for a `Decimal`, at whatever depth it is.
        text = _written(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    return text


def _written(value: object) -> str:
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(_key(key), ensure_ascii=False)}:{_written(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a document is no str: {type(key).__name__}")
    return key


def _number(number: decimal.Decimal) -> str:
    if not number.is_finite():
        return "NaN"
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return format(number, "f") if -_MOST_PLACES <= exponent <= 0 else str(number)


def value_of(text: str) -> Any:
    """What a JSON text says. Integers are exact; a number with a fraction becomes a `float`."""
    return json.loads(text)
