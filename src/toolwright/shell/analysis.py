"""From a tree to units: every simple command anywhere in a command line, with where it may run."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from toolwright.shell import repairs
from toolwright.shell.evaluated import names_code
from toolwright.shell.places import Exit, after_unit, joined
from toolwright.shell.residue import accounted
from toolwright.shell.syntax import Node, parse
from toolwright.shell.units import (
    START,
    Analysis,
    Assignment,
    Flag,
    Heredoc,
    Redirect,
    Trails,
    Unit,
    UnitKind,
    Word,
    plain_word,
)
from toolwright.shell.words import WORD_KINDS, is_plain_expansion, without_translation, word_of

MAX_CHARACTERS = 10_000
MAX_UNITS = 50
PARSED_CHARACTERS = 40_000
"""Longer texts are never parsed; the fallback scan still reads all of them."""
MAX_NESTING = 8
"""Scripts inside scripts (back-quotes in here-documents in back-quotes) before giving up."""
MAX_BRACKETS = 40
"""Closing brackets tried for one substitution in a here-document."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_IN_DOCUMENT = re.compile(r"\\.|`|\$\(|\$\[|\$\{|\$(?=[\w@*#?!$-])", re.DOTALL)
_NAMED = re.compile(r"\$\{[A-Za-z_]\w*\}")
_LOOP_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
"""Loop variables of this form cannot be variables that other programs listen to."""
_REPEATED = frozenset({
    "for_statement", "c_style_for_statement", "while_statement", "function_definition",
})  # fmt: skip
_CONTAINED = frozenset({
    "subshell", "command_substitution", "process_substitution", "pipeline",
})  # fmt: skip
"""What happens to the working directory inside stays inside."""
_SEQUENTIAL = frozenset({
    "program", "do_group", "compound_statement", "subshell", "command_substitution",
})  # fmt: skip
_SIMPLE = frozenset({
    "command", "declaration_command", "unset_command", "test_command",
})  # fmt: skip
_UNIT_KINDS: dict[str, UnitKind] = {"command": "command", "test_command": "test"}
_FLAGS_BY_KIND = {
    "function_definition": Flag.FUNCTION,
    "arithmetic_expansion": Flag.ARITHMETIC,
    "c_style_for_statement": Flag.ARITHMETIC,
    "subscript": Flag.ARITHMETIC,
}


class Walk:
    """Collects the units of one text; scripts found inside it are walked by children of their own."""

    def __init__(self, text: str, depth: int = 0, trails: Trails = START) -> None:
        self.text = text
        self.units: list[Unit] = []
        self.group_redirects: list[Redirect] = []
        self.flags: set[Flag] = set()
        self.parsable = True
        self.background = False
        self._depth = depth
        self._in_string = False
        self._start = trails

    def run(self) -> "Walk":
        """Walk the whole text. Text that cannot be trusted clears ``parsable``; nothing is raised."""
        try:
            self.text = repairs.join_lines(self.text)
        except repairs.Unrepairable:
            self.parsable = False
            return self
        root = parse(self.text)
        self.parsable = accounted(self.text, root)
        self._visit(root, self._start)
        return self

    def _visit(self, node: Node, trails: Trails) -> Exit:
        if node.kind in _SIMPLE:
            return self._command(node, trails, ())
        match node.kind:
            case "variable_assignment" | "variable_assignments":
                return self._assignment(node, trails)
            case "redirected_statement":
                return self._redirected(node, trails)
            case "list":
                return self._list(node, trails)
            case "heredoc_redirect" | "herestring_redirect" | "file_redirect":
                self.group_redirects.extend(self._redirect(node, trails)[0])
            case "command_substitution" if (
                opening := repairs.opening_backquote(self.text, node)
            ) is not None:
                script = self.text[opening + 1 : node.end - 1]
                self._script(repairs.backquoted_script(script, in_string=self._in_string), trails)
            case _:
                return self._compound(node, trails)
        return Exit(trails, trails)

    # -- compound commands and everything that holds commands -------------------------------------

    def _compound(self, node: Node, trails: Trails) -> Exit:
        self._note(node)
        outside = self._in_string
        self._in_string = node.kind == "string" or (outside and node.kind != "command_substitution")
        inside = self._children(node, trails)
        self._in_string = outside
        if node.kind in _CONTAINED:
            return Exit(trails, trails)
        if node.kind in _REPEATED and inside != trails:
            self._forget_places()
            inside = None
        return Exit(inside, inside)

    def _children(self, node: Node, trails: Trails) -> Trails:
        """Visit children in order; each may start wherever an earlier one may have ended."""
        here = trails
        following = iter(node.children[1:])
        for child in node.children:
            after = next(following, None)
            if child.kind == "&":
                self.background = True
            if not child.children:
                continue
            end = self._visit(child, here)
            if node.kind == "pipeline" or (after is not None and after.kind == "&"):
                continue
            here = end.either if node.kind in _SEQUENTIAL else joined(here, end.either)
        return here

    def _note(self, node: Node) -> None:
        match node.kind:
            case "function_definition":
                self.flags.add(Flag.FUNCTION)
            case "arithmetic_expansion" | "c_style_for_statement" | "subscript":
                self.flags.add(Flag.ARITHMETIC)
            case "compound_statement" if self.text.startswith("((", node.start):
                self.flags.add(Flag.ARITHMETIC)
            case "expansion" if not is_plain_expansion(self.text[node.start : node.end]):
                self.flags.add(Flag.COMPLEX_EXPANSION)
            case "for_statement":
                names = [child for child in node.children if child.kind == "variable_name"]
                if not all(_LOOP_NAME.fullmatch(self.text, name.start, name.end) for name in names):
                    self.flags.add(Flag.LOOP_VARIABLE)
                if any(names_code(self.text[name.start : name.end]) for name in names):
                    self.flags.add(Flag.CODE_VARIABLE)

    def _forget_places(self) -> None:
        """A repeated body changes directory: whatever was found so far may run anywhere."""
        self.units = [replace(unit, trails=None) for unit in self.units]
        self.group_redirects = [replace(redirect, trails=None) for redirect in self.group_redirects]

    def _list(self, node: Node, trails: Trails) -> Exit:
        operator = next((child.kind for child in node.children if child.kind in {"&&", "||"}), "")
        parts = [child for child in node.children if child.children]
        if not operator or len(parts) != 2:
            return self._compound(node, trails)
        left = self._visit(parts[0], trails)
        if operator == "&&":
            right = self._visit(parts[1], left.success)
            return Exit(right.success, joined(left.failure, right.failure))
        right = self._visit(parts[1], left.failure)
        return Exit(joined(left.success, right.success), right.failure)

    def _script(self, script: str, trails: Trails) -> None:
        """Take over what another text inside this one would run."""
        if self._depth >= MAX_NESTING:
            self.parsable = False
            return
        self._take(Walk(script, self._depth + 1, trails).run())

    def _take(self, inner: "Walk", *, but: str = "") -> None:
        self.units.extend(unit for unit in inner.units if unit.source != but)
        self.group_redirects.extend(inner.group_redirects)
        self.flags |= inner.flags
        self.parsable = self.parsable and inner.parsable
        self.background = self.background or inner.background

    # -- simple commands --------------------------------------------------------------------------

    def _command(self, node: Node, trails: Trails, outer: tuple[Node, ...]) -> Exit:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        for child in (*without_translation(node.children), *outer):
            if repairs.dropped_dash(self.text, node, child):
                words.append(plain_word("-"))
            if child.kind.endswith("_redirect"):
                written, further = self._redirect(child, trails)
                redirects.extend(written)
                words.extend(further)
                continue
            if child.children:
                self._visit_words(child, trails)
            if child.kind == "variable_assignment" and node.kind == "command":
                assignments.append(self._assigned(child))
            else:
                words.extend(self._words(child, node.kind))
        start = min(node.start, *(child.start for child in (node, *outer)))
        end = max(node.end, *(child.end for child in (node, *outer)))
        unit = Unit(
            _UNIT_KINDS.get(node.kind, "declaration"),
            self.text[start:end],
            tuple(words),
            tuple(assignments),
            tuple(redirects),
            trails,
        )
        self.units.append(unit)
        return after_unit(unit)

    def _visit_words(self, node: Node, trails: Trails) -> None:
        """Look for commands inside the words of a command."""
        if node.kind == "variable_assignment":
            self._compound(node, trails)
        else:
            self._visit(node, trails)

    def _words(self, node: Node, command: str) -> Iterable[Word]:
        if node.kind == "command_name":
            return [word_of(self.text, child) for child in node.children]
        if node.kind == "variable_assignment":
            return [_assignment_word(self._assigned(node))]
        if node.kind in WORD_KINDS:
            return [word_of(self.text, node)]
        if command == "test_command" and node.children:
            return [word for child in node.children for word in self._words(child, command)]
        if not node.named:
            return [plain_word(self.text[node.start : node.end])]
        self.parsable = False
        return []

    def _assigned(self, node: Node) -> Assignment:
        name, *rest = node.children
        value = Word("", "", "", "")
        if len(rest) > 1:
            value = word_of(self.text, rest[-1])
        source = self.text[node.start : node.end]
        return Assignment(self.text[name.start : name.end], source, value)

    def _assignment(self, node: Node, trails: Trails) -> Exit:
        parts = [node] if node.kind == "variable_assignment" else node.children
        for part in parts:
            self._compound(part, trails)
        assignments = tuple(self._assigned(part) for part in parts if part.kind == "variable_assignment")
        source = self.text[node.start : node.end]
        self.units.append(Unit("assignment", source, (), assignments, (), trails))
        lost = any(assignment.name == "CDPATH" for assignment in assignments)
        return Exit(None, None) if lost else Exit(trails, trails)

    # -- redirects --------------------------------------------------------------------------------

    def _redirected(self, node: Node, trails: Trails) -> Exit:
        """A command with redirects; on a list they count for every directory the list can be in."""
        body = [child for child in node.children if not child.kind.endswith("_redirect")]
        outer = tuple(child for child in node.children if child.kind.endswith("_redirect"))
        if len(body) == 1 and body[0].kind in _SIMPLE:
            return self._command(body[0], trails, outer)
        first = len(self.units)
        end = Exit(trails, trails)
        for part in body:
            end = self._visit(part, trails)
        everywhere = joined(trails, end.either)
        for unit in self.units[first:]:
            everywhere = joined(everywhere, unit.trails)
        written = [self._redirect(child, everywhere) for child in outer]
        self.parsable = self.parsable and not any(further for _, further in written)
        for redirect in (redirect for redirects, _ in written for redirect in redirects):
            self.group_redirects.append(redirect)
            if redirect.heredoc is not None:
                passed = replace(redirect, inherited=True)
                self.units[first:] = [
                    replace(unit, redirects=(*unit.redirects, passed)) for unit in self.units[first:]
                ]
        return end

    def _redirect(self, node: Node, trails: Trails) -> tuple[list[Redirect], list[Word]]:
        """The redirects of a node, and the words of the command that the grammar took for targets."""
        operator = descriptor = ""
        words: list[Word] = []
        further: list[Redirect] = []
        for child in node.children:
            if child.kind == "file_descriptor":
                descriptor = self.text[child.start : child.end]
            elif child.kind in WORD_KINDS:
                words.append(word_of(self.text, child))
                self._visit(child, trails)
            elif child.kind.endswith("_redirect"):
                inner, extra = self._redirect(child, trails)
                further.extend(inner)
                words.extend(extra)
            elif not child.named:
                operator = operator or child.kind
            elif child.children and child.kind != "heredoc_body":
                self._visit(child, None)
        source = self.text[node.start : node.end]
        if node.kind == "heredoc_redirect":
            document = self._document(node, trails)
            return [Redirect(operator, descriptor, None, source, document, trails), *further], words
        target = words[0] if words else None
        text = None
        if node.kind == "herestring_redirect" and target is not None:
            text = Heredoc(target.text or target.spelled, target.literal)
        return [Redirect(operator, descriptor, target, source, text, trails), *further], words[1:]

    def _document(self, node: Node, trails: Trails) -> Heredoc:
        document = repairs.here_document(self.text, node)
        if document is None:
            self.parsable = False
            return Heredoc(self.text[node.start : node.end], literal=False)
        if document.quoted:
            return Heredoc(document.body, literal=True)
        expands = self._expansions(document.body, trails)
        return Heredoc(repairs.backquoted_script(document.body, in_string=False), literal=not expands)

    def _expansions(self, body: str, trails: Trails) -> bool:
        """Find what bash would expand in the body of a here-document; the grammar misses some."""
        position = 0
        expands = False
        while found := _IN_DOCUMENT.search(body, position):
            position = found.end()
            if found[0].startswith("\\"):
                continue
            expands = True
            if found[0] == "`":
                closing = repairs.unquoted_backquote(body, found.start())
                if closing is None:
                    self.parsable = False
                    return True
                script = body[found.start() + 1 : closing]
                self._script(repairs.backquoted_script(script, in_string=False), trails)
                position = closing + 1
            elif found[0] == "$(":
                position = self._substitution(body, found.start(), trails)
            elif found[0] == "$[":
                self.flags.add(Flag.ARITHMETIC)
            elif found[0] == "${" and not _NAMED.match(body, found.start()):
                self.flags.add(Flag.COMPLEX_EXPANSION)
        return expands

    def _substitution(self, body: str, start: int, trails: Trails) -> int:
        """Walk the substitution at ``start``; it ends at the first bracket that makes it whole."""
        closing = body.find(")", start)
        for _ in range(MAX_BRACKETS):
            if closing < 0 or self._depth >= MAX_NESTING:
                break
            text = f": {body[start : closing + 1]}"
            inner = Walk(text, self._depth + 1, trails).run()
            if inner.parsable:
                self._take(inner, but=text)
                return closing + 1
            closing = body.find(")", closing + 1)
        self.parsable = False
        return len(body)


def _assignment_word(assignment: Assignment) -> Word:
    value = assignment.value
    head = assignment.source[: len(assignment.source) - len(value.source)]
    text = None if value.text is None else head + value.text
    return Word(assignment.source, text, head + value.shape, head + value.spelled, value.kinds)


def analysed(command: str) -> Analysis:
    """The analysis of a command; never raises."""
    flags: set[Flag] = set()
    if len(command) > MAX_CHARACTERS:
        flags.add(Flag.TOO_LONG)
    if has_control_characters(command):
        flags.add(Flag.CONTROL_CHARACTERS)
    if len(command) > PARSED_CHARACTERS or _SURROGATE.search(command):
        return Analysis(command, (), (), frozenset(flags), parsable=False)
    walk = Walk(command).run()
    if len(walk.units) > MAX_UNITS:
        flags.add(Flag.TOO_MANY_UNITS)
    return Analysis(
        command,
        tuple(walk.units),
        tuple(walk.group_redirects),
        frozenset(flags | walk.flags),
        parsable=walk.parsable,
        background=walk.background,
    )


def has_control_characters(command: str) -> bool:
    """Characters that a person cannot see, or that terminals and programs read differently."""
    if _CONTROL.search(command):
        return True
    strange = (character for character in set(command) if character > "\x7f")
    return any(unicodedata.category(character) in _UNSEEN for character in strange)
