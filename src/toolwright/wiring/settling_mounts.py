"""What brings the mounts of a session in step after each batch of its calls."""

from toolwright.contracts.events import SessionCreated
from toolwright.contracts.hooks import Hook, HookInput, HookOutput
from toolwright.contracts.mounts import MountsInStep


def settling(in_step: MountsInStep | None, first: SessionCreated) -> tuple[Hook, ...]:
    """Return hooks for a session below or at ``first``, whose mounts all of them see.

    There are none where nothing has to be kept in step.
    """
    if in_step is None or not any(mount.source for mount in first.mounts):
        return ()

    async def settle(input: HookInput) -> HookOutput:
        del input
        return HookOutput(context=await in_step.settle(first.workspace, first.session_id, first.mounts))

    return (Hook(event="PostToolBatch", handler=settle, label="mounts", in_process=True),)
