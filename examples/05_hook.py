"""A hook: code of your own that is told about calls and may object."""

import asyncio

from toolwright import Hook, HookInput, HookOutput, Toolbox, tool


@tool(read_only=True)
def shout(text: str) -> str:
    """Say it louder.

    Args:
        text: What to say.
    """
    return text.upper()


async def no_secrets(call: HookInput) -> HookOutput | None:
    """Object to calls that speak of the password."""
    if "password" in call.payload["tool_input"]["text"]:
        return HookOutput(decision="deny", reason="do not speak of the password")
    return None


async def main() -> None:
    hook = Hook(event="PreToolUse", handler=no_secrets, label="no_secrets", matcher="shout", in_process=True)
    async with Toolbox([shout], hooks=[hook]) as box:
        print((await box.call("shout", {"text": "hello"})).content)
        print((await box.call("shout", {"text": "the password"})).content)


if __name__ == "__main__":
    asyncio.run(main())
