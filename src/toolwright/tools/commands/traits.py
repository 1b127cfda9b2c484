"""What a command promises, by what the shell analysis says of it. Pure."""

from toolwright import shell
from toolwright.contracts.tool import Objection, Traits


def command_traits(command: str, *, network: bool, alone: bool, destructive: tuple[str, ...] = ()) -> Traits:
    """Traits of a call that runs ``command``; ``alone`` keeps it from running beside others.

    ``destructive`` names commands that cannot be undone, besides the usual ones.
    """
    analysis = shell.analyse(command)
    read_only = shell.is_read_only(analysis)
    beside_others = read_only and not alone
    return Traits(
        read_only=read_only,
        destructive=shell.is_destructive(analysis, destructive),
        concurrency_safe=beside_others,
        open_world=network,
        touches=() if beside_others else None,
        command=command,
    )


def nul_objection(command: str) -> Objection | None:
    """A command with a NUL would not be the command that was judged: bash leaves the NUL out."""
    if "\0" in command:
        return Objection("invalid", "The command holds a NUL character.", code="validation_failed")
    return None
