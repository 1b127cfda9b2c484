"""The table of permissions, row by row, and what holds for every row."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.permissions import Behavior, Decision, Mode, Reason, RuleChange, RuleSet
from toolwright.contracts.tool import NO_PROMISES, Access, McpOrigin, Objection, ToolSpec, Touch, Traits
from toolwright.tool_calls.permissions.decide import command_verdict, decide, denied
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath

CWD = "/work/app"
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")


def rules(allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> RuleSet:
    def made(texts: tuple[str, ...], behavior: Behavior) -> Any:
        return tuple(parse_rule(text, behavior=behavior, source="user", names={}) for text in texts)

    return RuleSet(made(allow, "allow"), made(ask, "ask"), made(deny, "deny"))


def policy(
    mode: Mode = "default",
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
) -> Policy:
    return Policy(
        rules=rules(allow, ask, deny), mode=mode, cwd=CWD, original_cwd=CWD, home="/home/ann", roots=(CWD,)
    )


def call(
    name: str = "deploy",
    traits: Traits = NO_PROMISES,
    *,
    input: Mapping[str, Any] | None = None,
    raw_input: Mapping[str, Any] | None = None,
    objection: Objection | None = None,
    hook: Literal["allow", "ask"] | None = None,
    **spec: Any,
) -> Subject:
    touches = traits.touches or ()
    return Subject(
        spec=ToolSpec(name=name, description="", **({"input_schema": {}} | spec)),
        offered_name=name,
        input=input or {},
        raw_input=raw_input if raw_input is not None else input or {},
        traits=traits,
        paths=tuple(TouchedPath(touch.name, touch.access) for touch in touches if touch.kind == "path"),
        hosts=tuple(touch.name for touch in touches if touch.kind == "host"),
        objection=objection,
        hook=hook,
    )


def reading(path: str, name: str = "read") -> Subject:
    return call(name, Traits(read_only=True, touches=(Touch("path", path),)))


def editing(path: str, access: Access = "write", name: str = "edit") -> Subject:
    return call(name, Traits(touches=(Touch("path", path, access),)))


def fetching(host: str, name: str = "web_fetch") -> Subject:
    return call(name, Traits(read_only=True, open_world=True, touches=(Touch("host", host),)))


def server_tool(
    traits: Traits = NO_PROMISES, *, server: str = "git hub", tool: str = "get.issue", trusted: bool = False
) -> Subject:
    return call("mcp.git_hub.get_issue", traits, mcp=McpOrigin(server, tool, trusted))


def verdict(policy: Policy, subject: Subject) -> str:
    decision = decide(policy, subject)
    return f"{decision.behavior}!" if decision.forced else decision.behavior


INSIDE, OUTSIDE, PROTECTED = f"{CWD}/a.py", "/data/a.py", f"{CWD}/.git/config"
PLAIN = call()
NEEDY = call(needs_person=True)
FIRM = call(objection=Objection("ask", "really?", firm=True))
SOFT = call(objection=Objection("ask", "sure?"))


# --- one row after the other ----------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("deny", "subject"),
    [
        ("deploy", PLAIN),
        ("de*", PLAIN),
        ("Deploy", PLAIN),
        ("*", PLAIN),
        ("Read(a.py)", reading(INSIDE)),
        ("Read(a.py)", reading(INSIDE, "grep")),
        ("Read(a.py)", editing(INSIDE)),
        ("Write(a.py)", editing(INSIDE, "create", "apply_patch")),
        ("Edit(a.py)", editing(INSIDE, "delete", "custom")),
        ("WebFetch(domain:*.evil.org)", fetching("x.evil.org")),
        ("WebFetch(domain:evil.org)", fetching("evil.org", "http_request")),
        ("deploy(env:prod)", call(input={"env": "prod"})),
        ("deploy(prod*)", call("deploy", Traits(subject="prod-eu"))),
        ("mcp__git hub", server_tool()),
        ("mcp__git_hub__get_*", server_tool()),
        ("mcp__*", server_tool()),
    ],
)
def test_row_1_a_deny_rule_beats_every_mode_hook_and_allow_rule(
    mode: Mode, deny: str, subject: Subject
) -> None:
    in_force = policy(mode, deny=(deny,), allow=(subject.spec.name, "Read(**)", "Edit(**)", "WebFetch"))
    expected = Decision("deny", Reason("rule", f"denied by rule {deny} (user)", in_force.rules.deny[0]))
    assert decide(in_force, replace(subject, hook="allow")) == expected
    assert denied(in_force, subject) == expected


def test_row_1_is_silent_without_a_match() -> None:
    assert denied(policy("bypassPermissions", deny=("Read(x)", "other")), reading(INSIDE)) is None


def test_row_2_a_hook_that_asks_is_not_overruled() -> None:
    asking = replace(PLAIN, hook="ask", hook_reason="odd hour")
    decision = decide(policy("bypassPermissions", allow=("deploy",)), asking)
    assert decision == Decision("ask", Reason("hook", "odd hour"), forced=True, one_time_only=True)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "dontAsk"])
@pytest.mark.parametrize(
    ("ask", "subject"),
    [
        ("deploy", PLAIN),
        ("Read(a.py)", reading(INSIDE)),
        ("Edit(a.py)", editing(INSIDE)),
        ("WebFetch(domain:x.org)", fetching("x.org")),
        ("deploy(env:prod)", call(input={"env": "prod"})),
        ("mcp__git_hub", server_tool()),
    ],
)
def test_row_3_an_ask_rule_is_a_forced_question(mode: Mode, ask: str, subject: Subject) -> None:
    decision = decide(policy(mode, ask=(ask,), allow=(subject.spec.name,)), replace(subject, hook="allow"))
    assert (decision.behavior, decision.forced, decision.one_time_only) == ("ask", True, True)
    assert decision.reason.rule is not None
    assert decision.reason.rule.written == ask


def test_row_4_a_tool_that_needs_a_person_gets_one() -> None:
    assert verdict(policy("bypassPermissions"), NEEDY) == "ask!"
    assert verdict(policy("dontAsk"), NEEDY) == "deny"
    assert verdict(policy(), replace(NEEDY, hook="allow")) == "ask!"


def test_row_4_a_hook_may_answer_for_the_person_but_not_for_a_server() -> None:
    answered = replace(NEEDY, hook="allow", hook_updated_input=True)
    assert verdict(policy(), answered) == "allow"
    spec = replace(answered.spec, mcp=McpOrigin("s", "t"))
    assert verdict(policy(), replace(answered, spec=spec)) == "ask!"


def test_row_5_a_tool_that_refuses_is_final_even_against_an_ask_rule() -> None:
    refusing = call(objection=Objection("deny", "never"))
    for mode in MODES:
        assert decide(policy(mode, allow=("deploy",), ask=("deploy",)), refusing) == Decision(
            "deny", Reason("tool", "never")
        )


def test_row_5_a_firm_question_is_forced_and_a_soft_one_is_not() -> None:
    assert verdict(policy("bypassPermissions", allow=("deploy",)), FIRM) == "ask!"
    assert verdict(policy("bypassPermissions"), SOFT) == "allow"
    assert verdict(policy(allow=("deploy",)), SOFT) == "allow"
    offers = (RuleChange("addRules", rules=("deploy(x)",)),)
    soft = call(objection=Objection("ask", "sure?", suggestions=offers))
    assert decide(policy(), soft) == Decision("ask", Reason("tool", "sure?"), suggestions=offers)


def test_row_5_a_soft_question_is_not_skipped_by_what_is_free_anyway() -> None:
    harmless = Traits(read_only=True, touches=(Touch("path", INSIDE),))
    assert verdict(policy(), call("read", harmless, objection=Objection("ask", "big"))) == "ask"
    own = Traits(pre_approved=True)
    assert verdict(policy(), call("todo", own, objection=Objection("ask", "odd"))) == "ask"
    assert (
        verdict(policy("acceptEdits"), replace(editing(INSIDE), objection=Objection("ask", "big"))) == "allow"
    )


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "bypassPermissions"])
def test_row_6_protected_and_critical_places_are_forced_questions(mode: Mode) -> None:
    in_force = policy(mode, allow=("edit", "Edit(**)", "delete"))
    written = decide(in_force, replace(editing(PROTECTED), hook="allow"))
    assert written == Decision(
        "ask",
        Reason("safety", f"writes {PROTECTED}, which is protected"),
        forced=True,
        one_time_only=True,
        blocked_path=PROTECTED,
    )
    assert verdict(in_force, editing("/home/ann", "delete", "delete")) == "ask!"
    assert verdict(in_force, editing(CWD, "delete", "delete")) == "ask!"


def test_row_6_reading_a_protected_place_is_ordinary() -> None:
    assert verdict(policy(), reading(PROTECTED)) == "allow"


def test_row_6_a_file_tool_that_hides_its_paths_is_asked_about_while_path_rules_are_in_force() -> None:
    assert verdict(policy("bypassPermissions", deny=("Read(.env)",)), call("read")) == "ask!"
    assert verdict(policy("bypassPermissions", deny=("other",)), call("read")) == "allow"


def test_row_8_bypassing_allows_the_rest() -> None:
    for subject in (PLAIN, SOFT, editing(OUTSIDE), fetching("x.org"), server_tool()):
        assert decide(policy("bypassPermissions"), subject) == Decision(
            "allow", Reason("mode", "bypassPermissions")
        )


@pytest.mark.parametrize(
    ("subject", "allow", "expected"),
    [
        # by name, hook or its own word
        (PLAIN, (), "ask"),
        (PLAIN, ("deploy",), "allow"),
        (PLAIN, ("other",), "ask"),
        (replace(PLAIN, hook="allow"), (), "allow"),
        (call("todo", Traits(pre_approved=True)), (), "allow"),
        # by content
        (call("deploy", Traits(subject="staging")), ("deploy(staging)",), "allow"),
        (call("deploy", Traits(subject="staging-2")), ("deploy(staging)",), "ask"),
        (call("deploy", Traits(subject="staging-2")), ("deploy(staging*)",), "allow"),
        (call("skill", Traits(subject="review")), ("Skill(review *)",), "allow"),
        (call("skill", Traits(subject="review now")), ("Skill(review *)",), "allow"),
        (call("skill", Traits(subject="reviewer")), ("Skill(review *)",), "ask"),
        (call("deploy", input={"env": "prod"}), ("deploy(env:prod)",), "ask"),
        # reading
        (call("now", Traits(read_only=True)), (), "allow"),
        (call("now", Traits(read_only=True, open_world=True)), (), "ask"),
        (reading(INSIDE), (), "allow"),
        (reading(OUTSIDE), (), "ask"),
        (reading(OUTSIDE), ("Read(//data/**)",), "allow"),
        (reading(OUTSIDE), ("Edit(//data/**)",), "allow"),
        (reading(OUTSIDE, "grep"), ("Read(//data/**)",), "allow"),
        (reading(OUTSIDE), ("Read",), "allow"),
        # writing
        (editing(INSIDE), (), "ask"),
        (editing(INSIDE), ("Edit(a.py)",), "allow"),
        (editing(INSIDE), ("Read(a.py)",), "ask"),
        (editing(INSIDE, "create", "write"), ("Edit(a.py)",), "allow"),
        (editing(INSIDE, "create", "write"), ("Edit",), "ask"),
        (editing(INSIDE, "delete", "custom"), ("Edit(a.py)",), "allow"),
        (editing(INSIDE), ("edit",), "allow"),
        (editing(OUTSIDE), ("edit",), "ask"),
        (editing(OUTSIDE), ("edit", "Edit(//data/**)"), "allow"),
        (editing(OUTSIDE, name="custom"), ("custom",), "allow"),
        # hosts
        (fetching("x.org"), (), "ask"),
        (fetching("x.org"), ("WebFetch(domain:x.org)",), "allow"),
        (fetching("y.org"), ("WebFetch(domain:x.org)",), "ask"),
        (fetching("x.org", "http_request"), ("WebFetch(domain:x.org)",), "ask"),
        (fetching("x.org", "http_request"), ("HttpRequest(domain:x.org)",), "allow"),
        # servers
        (server_tool(), (), "ask"),
        (server_tool(Traits(read_only=True)), (), "ask"),
        (call("mcp.s.t", Traits(read_only=True), mcp=McpOrigin("s", "t", trusted=True)), (), "allow"),
        (server_tool(), ("mcp__git_hub",), "allow"),
        (server_tool(), ("mcp__git hub",), "allow"),
        (server_tool(), ("mcp__git_hub__*",), "allow"),
        (server_tool(), ("mcp__git_hub__get_issue",), "allow"),
        (server_tool(), ("mcp__git_hub__get.issue",), "allow"),
        (server_tool(), ("mcp.git_hub.get_*",), "allow"),
        (server_tool(), ("mcp__git",), "ask"),
        (server_tool(), ("mcp__git_hub__get",), "ask"),
        (call("mcp.a__b.c", mcp=McpOrigin("a__b", "c")), ("mcp__a__b__c",), "ask"),
        (call("mcp.a.bash", mcp=McpOrigin("a", "bash"), aliases=("bash",)), ("bash",), "ask"),
    ],
)
def test_row_9_what_runs_without_asking(subject: Subject, allow: tuple[str, ...], expected: str) -> None:
    assert verdict(policy(allow=allow), subject) == expected


def test_row_9_every_touched_part_must_be_covered() -> None:
    both = call("patch", Traits(touches=(Touch("path", INSIDE, "write"), Touch("path", OUTSIDE, "write"))))
    assert verdict(policy(allow=("Edit(a.py)",)), both) == "ask"
    assert verdict(policy(allow=("Edit(a.py)", "Edit(//data/*)")), both) == "allow"
    assert verdict(policy("acceptEdits"), both) == "ask"
    assert verdict(policy("acceptEdits", allow=("Edit(//data/*)",)), both) == "allow"


def test_row_9_declared_parts_cover_nothing_that_is_not_declared() -> None:
    path = Touch("path", INSIDE, "write")
    assert verdict(policy("acceptEdits"), call("sync", Traits(touches=(path,), open_world=True))) == "ask"
    assert (
        verdict(policy("acceptEdits"), call("sync", Traits(touches=(path, Touch("key", "db", "write")))))
        == "ask"
    )
    assert verdict(policy(), call("sync", Traits(touches=(Touch("path", INSIDE),)))) == "ask"
    assert verdict(policy(), call("sync", Traits(touches=()))) == "ask"


def test_row_9_a_path_is_covered_only_under_all_its_spellings() -> None:
    link = replace(reading(INSIDE), paths=(TouchedPath(INSIDE, "read", ("/hop/x", "/data/x")),))
    assert verdict(policy(), link) == "ask"
    assert verdict(policy(allow=("Read(//data/**)",)), link) == "ask"
    assert verdict(policy(allow=("Read(//data/**)", "Read(//hop/**)")), link) == "allow"
    assert verdict(policy("bypassPermissions", deny=("Read(//hop/**)",)), link) == "deny"


def test_row_10_a_run_that_never_asks_denies() -> None:
    decision = decide(policy("dontAsk"), editing(OUTSIDE))
    assert decision == Decision(
        "deny",
        Reason("mode", f"this run never asks, and {OUTSIDE} lies outside the workspace"),
        blocked_path=OUTSIDE,
    )
    for subject in (FIRM, SOFT, NEEDY, PLAIN, replace(PLAIN, hook="ask"), editing(PROTECTED)):
        assert verdict(policy("dontAsk"), subject) == "deny"
    assert verdict(policy("dontAsk", ask=("now",)), call("now", Traits(read_only=True))) == "deny"


def test_row_11_the_reviewer_is_left_to_the_pipeline() -> None:
    decision = decide(policy("auto"), PLAIN)
    assert (decision.behavior, decision.forced, decision.reason.kind) == ("ask", False, "classifier")
    assert verdict(policy("auto", ask=("deploy",)), PLAIN) == "ask!"


def test_row_11_broad_allow_rules_are_set_aside_while_the_reviewer_is_on() -> None:
    agent = call("agent")
    assert verdict(policy("auto", allow=("Agent",)), agent) == "ask"
    assert verdict(policy("default", allow=("Agent",)), agent) == "allow"
    assert verdict(policy("auto", allow=("deploy",)), PLAIN) == "allow"


def test_the_question_says_what_stands_in_the_way() -> None:
    outside = decide(policy(), reading("/data/sub/x"))
    assert outside == Decision(
        "ask",
        Reason("working_directory", "/data/sub/x lies outside the workspace"),
        suggestions=(RuleChange("addRules", rules=("Read(//data/sub/**)",)),),
        blocked_path="/data/sub/x",
    )
    assert decide(policy(), PLAIN).reason == Reason("default", "no rule allows this")
    assert decide(policy("plan"), editing(INSIDE)).reason == Reason("mode", "plan mode only reads")


def test_what_cannot_be_undone_is_never_offered_as_always_allow() -> None:
    decision = decide(policy(), call("drop", Traits(destructive=True)))
    assert (decision.one_time_only, decision.suggestions) == (True, ())


# --- modes ----------------------------------------------------------------------------------

READS, EDITS, EDITS_AFAR, RUNS = reading(INSIDE), editing(INSIDE), editing(OUTSIDE), PLAIN


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", ("allow", "ask", "ask", "ask")),
        ("acceptEdits", ("allow", "allow", "ask", "ask")),
        ("plan", ("allow", "ask", "ask", "ask")),
        ("dontAsk", ("allow", "deny", "deny", "deny")),
        ("auto", ("allow", "ask", "ask", "ask")),
        ("bypassPermissions", ("allow", "allow", "allow", "allow")),
    ],
)
def test_modes_without_rules(mode: Mode, expected: tuple[str, ...]) -> None:
    assert tuple(verdict(policy(mode), subject) for subject in (READS, EDITS, EDITS_AFAR, RUNS)) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", ("allow", "allow", "allow", "allow")),
        ("acceptEdits", ("allow", "allow", "allow", "allow")),
        ("plan", ("allow", "ask", "ask", "ask")),
        ("dontAsk", ("allow", "allow", "allow", "allow")),
        ("auto", ("allow", "allow", "allow", "allow")),
    ],
)
def test_modes_with_allow_rules(mode: Mode, expected: tuple[str, ...]) -> None:
    in_force = policy(mode, allow=("Edit(//**)", "deploy"))
    assert tuple(verdict(in_force, subject) for subject in (READS, EDITS, EDITS_AFAR, RUNS)) == expected


def test_plan_lets_rules_open_what_only_reads() -> None:
    assert verdict(policy("plan", allow=("WebFetch(domain:x.org)",)), fetching("x.org")) == "allow"
    assert verdict(policy("plan"), replace(PLAIN, hook="allow")) == "ask"
    assert verdict(policy("plan"), call("todo", Traits(pre_approved=True))) == "allow"
    assert verdict(policy("plan", allow=("mcp__git_hub",)), server_tool(Traits(read_only=True))) == "ask"


# --- fields ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "raw", "expected"),
    [
        ("deploy(env:prod)", {"env": "prod"}, "deny"),
        ("deploy( env : prod )", {"env": "prod"}, "deny"),
        ("deploy(env:pr*)", {"env": "prod"}, "deny"),
        ("deploy(env:prod)", {"env": "production"}, "ask"),
        ("deploy(env:*)", {}, "ask"),
        ("deploy(env:*)", {"env": ["prod"]}, "ask"),
        ("deploy(force:true)", {"force": True}, "deny"),
        ("deploy(force:true)", {"force": False}, "ask"),
        ("deploy(count:3)", {"count": 3}, "deny"),
        ("deploy(inner:x)", {"outer": {"inner": "x"}}, "ask"),
    ],
)
def test_fields_of_the_input(rule: str, raw: dict[str, Any], expected: str) -> None:
    assert verdict(policy(deny=(rule,)), call(input=raw)) == expected


def test_a_repaired_spelling_of_a_field_dodges_no_rule() -> None:
    in_force = policy(deny=("deploy(dry_run:false)",))
    assert verdict(in_force, call(input={"dry_run": False}, raw_input={"dryRun": "False"})) == "deny"
    assert verdict(in_force, call(input={}, raw_input={"dry_run": False})) == "deny"


def test_without_a_subject_content_is_compared_with_the_first_text() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "env": {"type": "string"}, "tag": {"type": "string"}}}
    subject = call(input={"n": 1, "env": "prod", "tag": "x"}, input_schema=schema)
    assert verdict(policy(allow=("deploy(prod)",)), subject) == "allow"
    assert verdict(policy(allow=("deploy(x)",)), subject) == "ask"
    assert verdict(policy(allow=("deploy(x)",)), call(input={"tag": "x"}, input_schema=schema)) == "ask"


# --- commands -------------------------------------------------------------------------------


def shell(command: str, name: str = "bash") -> Subject:
    return call(name, Traits(command=command), input={"command": command})


@pytest.mark.parametrize(
    ("in_force", "command", "expected"),
    [
        (policy(allow=("Bash(npm test *)",)), "npm test", "allow"),
        (policy(allow=("Bash(npm test *)",)), "npm test && rm -rf build", "ask"),
        (policy(allow=("Bash(npm *)",), deny=("Bash(rm *)",)), "npm test; rm x", "deny"),
        (policy("bypassPermissions", deny=("Bash(rm *)",)), "rm x", "deny"),
        (policy("bypassPermissions", ask=("Bash(git push *)",)), "git push", "ask!"),
        (policy("bypassPermissions", ask=("Bash(git push *)",)), "make it && git push", "ask!"),
        (policy("bypassPermissions", ask=("Bash",)), "ls", "ask!"),
        (policy("bypassPermissions"), "rm -rf /", "ask!"),
        (policy("bypassPermissions"), "make", "allow"),
        (policy("plan", allow=("Bash(npm test *)",)), "npm test", "ask"),
        (policy("plan"), "git status", "allow"),
        (policy("dontAsk"), "touch x", "deny"),
        (policy("acceptEdits"), "mkdir -p src/n", "allow"),
        (policy(allow=("Bash",)), "make", "allow"),
        (policy("auto", allow=("Bash",)), "make", "ask"),
        (policy("auto", allow=("Bash(make *)",)), "make all", "allow"),
        (policy(deny=("Read(./secrets/**)",)), "cat secrets/k", "deny"),
    ],
)
def test_commands(in_force: Policy, command: str, expected: str) -> None:
    assert verdict(in_force, shell(command)) == expected


def test_rules_of_the_shell_govern_every_tool_that_runs_commands() -> None:
    assert verdict(policy(deny=("Bash(rm *)",)), shell("rm x", "monitor")) == "deny"
    assert verdict(policy(deny=("Bash",)), shell("ls", "monitor")) == "deny"
    assert verdict(policy(deny=("Monitor(rm *)",)), shell("rm x", "monitor")) == "deny"
    assert verdict(policy(deny=("Monitor(rm *)",)), shell("rm x")) == "ask"
    assert verdict(policy(allow=("Bash(make *)",)), shell("make", "monitor")) == "allow"


def test_a_shell_that_does_not_tell_its_command_is_judged_by_its_input() -> None:
    silent = call("bash", Traits(), input={"command": "rm x"})
    assert verdict(policy("bypassPermissions", deny=("Bash(rm *)",)), silent) == "deny"


def test_the_parts_of_a_command_can_be_looked_at() -> None:
    found = command_verdict(policy(allow=("Bash(make *)",)), shell("make && id"))
    assert found is not None
    assert [unit.text for unit in found.units] == ["make", "id"]
    assert command_verdict(policy(), PLAIN) is None


# --- what always holds ----------------------------------------------------------------------

TEXTS = st.sampled_from([
    "deploy", "Bash", "Bash(make *)", "Bash(rm *)", "Bash(git push *)", "Read(a.py)", "Read(//data/**)",
    "Edit(**)", "Edit(//**)", "WebFetch(domain:x.org)", "WebFetch", "mcp__git_hub", "Agent", "Read", "edit",
])  # fmt: skip
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
SUBJECTS = st.sampled_from([
    PLAIN, NEEDY, FIRM, SOFT, reading(INSIDE), reading(OUTSIDE), editing(INSIDE), editing(OUTSIDE),
    editing(PROTECTED), editing(CWD, "delete"), fetching("x.org"), server_tool(), call("agent"),
    shell("make all"), shell("make && rm x"), shell("git push"), shell("rm -rf /"), shell("cat a.py"),
    shell("echo $("), shell("$x y"),
])  # fmt: skip
HOOKED = st.builds(
    lambda subject, hook, updated: replace(subject, hook=hook, hook_updated_input=updated),
    SUBJECTS,
    st.sampled_from([None, "allow", "ask"]),
    st.booleans(),
)
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@settings(max_examples=200)
@given(st.sampled_from(MODES), LISTS, LISTS, LISTS, HOOKED)
def test_a_deny_rule_beats_everything(
    mode: Mode, allow: tuple[str, ...], ask: tuple[str, ...], deny: tuple[str, ...], subject: Subject
) -> None:
    in_force = policy(mode, allow=allow, ask=ask, deny=(*deny, subject.spec.name))
    assert decide(in_force, subject).behavior == "deny"


@settings(max_examples=300)
@given(st.sampled_from(MODES), LISTS, LISTS, LISTS, TEXTS, st.sampled_from(["ask", "deny"]), HOOKED)
def test_a_restricting_rule_never_permits_more(
    mode: Mode,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    added: str,
    behavior: str,
    subject: Subject,
) -> None:
    before = decide(policy(mode, allow=allow, ask=ask, deny=deny), subject)
    if behavior == "ask":
        after = decide(policy(mode, allow=allow, ask=(*ask, added), deny=deny), subject)
    else:
        after = decide(policy(mode, allow=allow, ask=ask, deny=(*deny, added)), subject)
    assert STRICTNESS[after.behavior] >= STRICTNESS[before.behavior]


@settings(max_examples=300)
@given(st.sampled_from(MODES), LISTS, LISTS, LISTS, TEXTS, HOOKED)
def test_an_allow_rule_never_denies_and_never_restricts(
    mode: Mode,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    added: str,
    subject: Subject,
) -> None:
    before = decide(policy(mode, allow=allow, ask=ask, deny=deny), subject)
    after = decide(policy(mode, allow=(*allow, added), ask=ask, deny=deny), subject)
    assert STRICTNESS[after.behavior] <= STRICTNESS[before.behavior]


@settings(max_examples=100)
@given(st.sampled_from(MODES), LISTS, LISTS, LISTS, HOOKED)
def test_the_same_question_has_the_same_answer(
    mode: Mode, allow: tuple[str, ...], ask: tuple[str, ...], deny: tuple[str, ...], subject: Subject
) -> None:
    first = decide(policy(mode, allow=allow, ask=ask, deny=deny), subject)
    assert decide(policy(mode, allow=allow, ask=ask, deny=deny), subject) == first


@pytest.mark.parametrize("mode", MODES)
def test_nothing_permits_what_lies_outside_a_confined_session(mode: Mode) -> None:
    given = replace(
        policy(mode, allow=("read", "edit", "Read(//etc/**)")), confined=True, readable=("/kept",)
    )
    for outside in (
        reading("/etc/passwd"),
        replace(reading("/work/app/link"), paths=(TouchedPath("/work/app/link", "read", ("/etc/passwd",)),)),
        replace(reading("/etc/passwd"), hook="allow"),
        editing("/etc/passwd"),
        editing("/kept/a"),
    ):
        decision = decide(given, outside)
        assert (decision.behavior, decision.reason.kind) == ("deny", "working_directory")
    assert decide(given, reading("/kept/a")).behavior == "allow"
    assert decide(given, reading("/work/app/a")).behavior == "allow"
    assert decide(given, editing("/kept/a")).reason.detail == "/kept/a can only be read."
    assert decide(replace(given, confined=False), reading("/etc/passwd")).behavior == "allow"
