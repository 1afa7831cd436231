"""What source and sink have in common of their options: names in any case, `kafka.` before what is the client's."""

import difflib
from collections.abc import Iterable, Mapping
from typing import NoReturn

PREFIX = "kafka."


class OptionError(ValueError):
    """An option that cannot be as it is; one line that says what can."""


class Options:
    """The options of one read or write. Names are looked up in any case, as Spark's connector does."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): str(value) for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def given(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.text(name) is not None]

    def unknown(self, known: Iterable[str]) -> list[str]:
        """What is given and means nothing, a line each with what may be meant; Spark itself says nothing of them."""
        names = {name.lower(): name for name in known}
        found = []
        for name in self._given.keys() - names.keys():
            if not name.startswith(PREFIX):
                near = difflib.get_close_matches(name, names, 1)
                found.append(f"there is no option {name}" + (f"; is {names[near[0]]} meant?" if near else ""))
        return sorted(found)

    def whole(self, name: str, default: int | None = None, *, least: int = 1) -> int | None:
        text = self.text(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            refuse(f"{name}={text}: a whole number")
        if value < least:
            refuse(f"{name}={text}: {least} or more")
        return value

    def flag(self, name: str, default: bool) -> bool:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            refuse(f"{name}={text}: true or false")
        return text.lower() == "true"

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        text = (self.text(name) or default).lower()
        allowed = list(choices)
        if text not in allowed:
            refuse(f"{name}={text}: one of {', '.join(allowed)}")
        return text

    def kafka(self, refused: Mapping[str, str]) -> dict[str, str]:
        """The client's own properties. `refused`: those that are not the user's to set, each with what to do."""
        found = {name[len(PREFIX) :]: value for name, value in self._given.items() if name.startswith(PREFIX)}
        for name, instead in refused.items():
            if name in found:
                refuse(f"{PREFIX}{name} cannot be set here: {instead}")
        if not found.get("bootstrap.servers", "").strip():
            refuse("kafka.bootstrap.servers is missing: HOST:PORT of a broker, or several with commas between them")
        return found


def refuse(why: str) -> NoReturn:
    raise OptionError(why)
