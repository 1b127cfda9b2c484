"""Values that are made many times in each turn: frozen for the type checker, plain objects at run time.

A frozen dataclass is made in three to four times the time of a plain one, because each member is written past
its own guard; a turn makes some fifty of them. Rules, policies and definitions are frozen in any case.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen: bool, slots: bool = False, kw_only: bool = False) -> object:
        """Like ``dataclass(frozen=True)``: compared and hashed by its members, which nobody changes."""
        assert frozen
        return dataclass(unsafe_hash=True, slots=slots, kw_only=kw_only)


__all__ = ["value"]
