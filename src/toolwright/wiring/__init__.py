"""Builds the house. With ``testing`` the only place that names a backend."""

from toolwright.wiring.house import House, Wanted, build, describe_builtins, every_builtin

__all__ = ["House", "Wanted", "build", "describe_builtins", "every_builtin"]
