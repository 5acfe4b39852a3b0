"""What a value in a configuration may be: checking, wording for people, JSON schema.

Each kind checks a value read from JSON and returns it normalised, names the legal values in words
(for messages and for the reference page) and gives its JSON schema. JSON has no integer type and
Python's `bool` is an `int`, so every number check refuses booleans explicitly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from finn_resnet.errors import UserError, did_you_mean

# Beyond any quantity here, and exact in a double.
_LARGEST = 2.0**53


class Kind(Protocol):
    """A kind of value a configuration key accepts."""

    def check(self, key: str, value: Any) -> Any:
        """Return `value` normalised, or raise UserError naming key, value and what is legal."""

    def legal(self) -> str:
        """The legal values in words, to follow "must be"."""

    def schema(self) -> dict[str, Any]:
        """JSON schema (draft 2020-12) of the value."""


def _refuse(key: str, value: Any, kind: Kind) -> UserError:
    return UserError(f"config key {key!r}: {value!r} is not legal, it must be {kind.legal()}")


@dataclass(frozen=True)
class Text:
    """A string that is not empty."""

    what: str = "text"

    def check(self, key: str, value: Any) -> str:
        """See `Kind.check`."""
        if not isinstance(value, str) or not value.strip():
            raise _refuse(key, value, self)
        return value

    def legal(self) -> str:
        """See `Kind.legal`."""
        return f"{self.what}, as a string that is not empty"

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def check(self, key: str, value: Any) -> bool:
        """See `Kind.check`."""
        if not isinstance(value, bool):
            raise _refuse(key, value, self)
        return value

    def legal(self) -> str:
        """See `Kind.legal`."""
        return "true or false"

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Number:
    """A finite number above `above`, or at least `at_least`, and at most `at_most`.

    `integer` refuses fractions.
    """

    above: float = 0
    at_least: float | None = None
    at_most: float | None = None
    integer: bool = False
    unit: str = ""

    def check(self, key: str, value: Any) -> float | int:
        """See `Kind.check`."""
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _refuse(key, value, self)
        at_most = _LARGEST if self.at_most is None else self.at_most
        # Written so that NaN, for which every comparison is false, is refused too.
        enough = self.above < value if self.at_least is None else self.at_least <= value
        if not (enough and value <= at_most) or (self.integer and value != int(value)):
            raise _refuse(key, value, self)
        return int(value) if self.integer else float(value)

    def legal(self) -> str:
        """See `Kind.legal`."""
        words = "a whole number" if self.integer else "a number"
        if self.at_least is not None:
            words += f" of at least {self.at_least:g}"
        elif self.integer and self.above == int(self.above):
            words += f" of at least {int(self.above) + 1}"
        else:
            words += f" above {self.above:g}"
        if self.at_most is not None:
            words += f" and at most {self.at_most:g}"
        return f"{words} ({self.unit})" if self.unit else words

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        schema: dict[str, Any] = {
            "type": "integer" if self.integer else "number",
        }
        if self.at_least is None:
            schema["exclusiveMinimum"] = self.above
        else:
            schema["minimum"] = self.at_least
        if self.at_most is not None:
            schema["maximum"] = self.at_most
        return schema


@dataclass(frozen=True)
class Choice:
    """One of a few values; a misspelt one is answered with the nearest."""

    values: tuple[Any, ...]

    def check(self, key: str, value: Any) -> Any:
        """See `Kind.check`."""
        for legal in self.values:
            # 1 == True in Python; JSON tells them apart.
            if type(value) is type(legal) and value == legal:
                return legal
        names = [legal for legal in self.values if isinstance(legal, str)]
        if isinstance(value, str) and names:
            raise UserError(
                f"config key {key!r}: {value!r} is not legal, it must be {self.legal()}; "
                f"{did_you_mean(value, names)}"
            )
        raise _refuse(key, value, self)

    def legal(self) -> str:
        """See `Kind.legal`."""
        return "one of " + ", ".join(_json_word(value) for value in self.values)

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        return {"enum": list(self.values)}


@dataclass(frozen=True)
class ListOf:
    """A list of values of one kind; `may_be_empty` allows []."""

    item: Kind
    may_be_empty: bool = False

    def check(self, key: str, value: Any) -> tuple[Any, ...]:
        """See `Kind.check`."""
        if not isinstance(value, (list, tuple)) or (not value and not self.may_be_empty):
            raise _refuse(key, value, self)
        return tuple(self.item.check(f"{key}[{i}]", entry) for i, entry in enumerate(value))

    def legal(self) -> str:
        """See `Kind.legal`."""
        words = f"a list, each entry {self.item.legal()}"
        return f"{words}; [] for none" if self.may_be_empty else words

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        schema: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        return schema if self.may_be_empty else {**schema, "minItems": 1}


@dataclass(frozen=True)
class OneOrMany:
    """A value, or a list with one value for each channel; always a tuple once checked."""

    item: Kind

    def check(self, key: str, value: Any) -> tuple[Any, ...]:
        """See `Kind.check`."""
        if isinstance(value, (list, tuple)):
            return ListOf(self.item).check(key, value)
        return (self.item.check(key, value),)

    def legal(self) -> str:
        """See `Kind.legal`."""
        return f"{self.item.legal()}, or a list with one for each channel"

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        return {"anyOf": [self.item.schema(), ListOf(self.item).schema()]}


@dataclass(frozen=True)
class Table:
    """An object with known keys, all optional; keys left out keep their default."""

    entries: Mapping[str, Kind]
    defaults: Mapping[str, Any]

    def check(self, key: str, value: Any) -> dict[str, Any]:
        """See `Kind.check`."""
        if not isinstance(value, Mapping):
            raise _refuse(key, value, self)
        checked = dict(self.defaults)
        for name, entry in value.items():
            if name not in self.entries:
                raise UserError(
                    f"config key {key!r}: unknown entry {name!r}; "
                    f"{did_you_mean(str(name), self.entries)}"
                )
            checked[name] = self.entries[name].check(f"{key}.{name}", entry)
        return checked

    def legal(self) -> str:
        """See `Kind.legal`."""
        listed = "; ".join(f"{name}: {kind.legal()}" for name, kind in self.entries.items())
        return f"an object with entries ({listed})"

    def schema(self) -> dict[str, Any]:
        """See `Kind.schema`."""
        return {
            "type": "object",
            "properties": {name: kind.schema() for name, kind in self.entries.items()},
            "additionalProperties": False,
        }


def _json_word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
