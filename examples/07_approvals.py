"""Somebody is asked: at once by a callback, or later, when somebody has the time."""

import asyncio

from toolwright import ApprovalAnswer, ApprovalRequest, Engine, ScriptedModel, call, tool


@tool(destructive=True)
def delete_account(name: str) -> str:
    """Delete an account for good.

    Args:
        name: Whose account.
    """
    print("deleting", name)
    return f"deleted {name}"


def careful(request: ApprovalRequest) -> ApprovalAnswer:
    """Agree to all but the administrator. True and False would do; a reason is for the model to read."""
    if request.input["name"] == "admin":
        return request.denied("The administrator stays.")
    return request.allowed()


def script() -> ScriptedModel:
    both = [call("delete_account", name="kim"), call("delete_account", name="admin")]
    return ScriptedModel([both, "Kim's account is gone; the administrator's stays, as you wish."])


async def main() -> None:
    async with Engine.local(script(), tools=[delete_account], approve=careful) as engine:
        print((await engine.run("Delete the accounts kim and admin.")).text)

    async with Engine.local(script(), tools=[delete_account], answers_later=True) as engine:
        session = await engine.session()
        result = await session.run("Delete the accounts kim and admin.")
        while result.end == "waiting":
            # Here a program may end: the questions stand in the log of the session, and hold nothing.
            for request in result.approvals:
                print("waiting:", request.title, request.input["name"])
                await session.answer(careful(request))
            result = await session.quiet()
        print(result.end)


if __name__ == "__main__":
    asyncio.run(main())
