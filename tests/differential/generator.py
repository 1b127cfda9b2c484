"""Random commands around a marker program: spellings of its name, put into contexts, two deep or more."""

import random
from collections.abc import Callable
from dataclasses import dataclass

LITERAL_SPELLINGS = (
    "rm x", 'r"m" x', "\\rm x", "'rm' x", '"rm" x', "$'\\x72m' x", "$'r\\155' x", "/bin/rm x",
    "../bin/rm x", "r\\\nm x", "r''m x", "rm\tx", "  rm   x", '$"rm" x', "rm x y 'z w'", "rm -rf -- x",
    "r\\m x", "rm $HOME", 'rm "$@"', "rm *", "rm {a,b}", "rm x > f", "> f rm x", "2>/dev/null rm x",
    "A=1 rm x", "A= rm x", "A=1 B='2 3' rm x", "rm < /dev/null", "rm x # c", "rm x 2>&1", "<<<a rm x",
    "A[0]=1 rm x", "r\\\n\\\nm x", "rm $(ls)", "rm `ls`", "command rm x", "exec rm x", "\\\nrm x",
    "rm\\\n x", "rm x;", "rm x &", "! rm x", "rm é", "'r'\"m\" ü", "time rm x", "time -p rm x",
    "rm $'a\\'b'", "rm 'it'\\''s'", 'rm "a\\"b"', "rm \"$'\"", 'r$"m" x', "x=$ rm x", "x=a$ rm x",
)  # fmt: skip
UNKNOWN_SPELLINGS = (
    "hash -p /bin/rm npm; npm x", "PS4='$(rm x)'; set -x; ls", "PS4='`rm x`' bash -xc ls",
    "echo rm x > s; BASH_ENV=s bash -c ls", "$(echo rm) x", "`echo rm` x", "x=rm; $x y", "{rm,x}",
    "/bin/r? x", "${x:-rm} y", "$'r'$(echo m) x", "x=rm; ${x} y", "x=r; ${x}m y", "x=rm; ${x%z} y",
    "echo rm x | bash", "echo 'rm x' > s; bash s", "echo 'rm x' > s; . ./s", "set -- rm x; \"$@\"",
    "x='rm y'; eval \"$x\"", "x='rm y'; bash -c \"$x\"", "/bin/[r]m x", "printf -v c %s rm; $c x",
    "read c <<< rm; $c x", "a=(rm x); ${a[@]}", "a=(rm x); ${a[*]}", "bash <(echo rm x)", "x=rm; ${x@P} y",
    "declare c=rm; $c y", "c=m; r$c x", "r${c}m x", "r$@m x", "r$(:)m x", "IFS=,; c=rm,x; $c",
    "for c in rm; do $c x; done", "echo x | while read c; do rm; done",
    "echo rm x > s; env BASH_ENV=s bash -c ls", "echo rm x > s; export BASH_ENV=s; bash -c ls",
    "echo rm x > s; set -a; read BASH_ENV <<< s; bash -c ls", "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
    "for PS4 in '$(rm x)'; do set -x; ls; done", "export PS4='$(rm x)'; set -x; ls",
    "printf -v PS4 '$(%s x)' rm; set -x; ls", "time x='a[$(rm x)]'; echo $((x))",
)  # fmt: skip

WRITING_SPELLINGS = (
    "echo a > /out/marked", "> /out/marked", "ls >> /out/marked", "ls >| /out/marked", "ls &> /out/marked",
    "ls &>> /out/marked", "ls 2> /out/marked", "ls >& /out/marked", "ls 3> /out/marked",
    "ls <> /out/marked", "cat <<E > /out/marked\nx\nE\n", "cat > /out/marked <<E\nx\nE\n",
    "cat <<< a > /out/marked", "> /out/marked ls", "ls > /out/../out/marked", "cd /out && ls > marked",
    "cd /out; ls > marked", "(cd /out; ls > marked)", "cd / && cd out && ls > marked", "ls > '/out/marked'",
    "ls > /out/m\\arked", "ls > $'/out/m\\x61rked'", "ls > \"/out/marked\"", "ls > /out/mark\\\ned",
    "ls {fd}> /out/marked", "{ ls; } > /out/marked", "(ls) > /out/marked",
    "if ls; then :; fi > /out/marked", "ls | cat > /out/marked", "ls && ls > /out/marked",
    "for i in a; do ls; done > /out/marked", "echo a 2>&1 > /out/marked", "ls > /out/marked a b",
    "cat <<E a > /out/marked b\nx\nE\n", "cat <<E | cat > /out/marked\nx\nE\n",
    "cat <<E && ls > /out/marked\nx\nE\n", "ls > ../out/marked", "ls > ~/../out/marked",
    "ls > $HOME/../out/marked", "x=/out/marked; ls > $x", "ls > /out/mar*ed",
    "f() { ls; } > /out/marked; f", "[[ a ]] > /out/marked", "case a in a) ls;; esac > /out/marked",
    "! ls > /out/marked", "time ls > /out/marked", "cd /out\nls > marked", "exec > /out/marked",
    "pushd /out; ls > marked", "cd /tmp/.. && ls > out/marked", "ls 1>/out/marked", "ls 1>&2 2>/out/marked",
    "ls </dev/null >/out/marked", "A=1 > /out/marked", "cd() { :; }; ls > /out/marked",
)  # fmt: skip

Quote = Callable[[str], str]


def single(text: str) -> str:
    """The text as one single-quoted word."""
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    """The text as one double-quoted word that expands to itself."""
    for special in '\\"$`':
        text = text.replace(special, "\\" + special)
    return f'"{text}"'


def ansi(text: str) -> str:
    """The text as one ``$'...'`` word."""
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def backquoted(text: str) -> str:
    """The text between back-quotes."""
    for special in "\\`$":
        text = text.replace(special, "\\" + special)
    return f"`{text}`"


PLAIN_CONTEXTS = (
    "@", "npm test && @", "npm test; @", "ls || @", "false || @", "true && @", "npm test & @",
    "npm test\n@", "npm test | @", "npm test |& @", "(@)", "{ @\n}", "if true; then @\nfi",
    "if @\nthen :; fi", "if false; then :; else @\nfi", "if false; then :; elif true; then @\nfi",
    "for i in a; do @\ndone", "for ((i=0;i<1;i++)); do @\ndone", "while :; do @\nbreak; done",
    "until false; do @\nbreak; done", "case a in a) @\n;; esac", "case a in (a|b) @\n;; esac",
    "case a in *) @\nesac", "f() { @\n}; f", "f() { @\n}", "function f { @\n}; f", "f() ( @\n); f",
    "echo $(@\n)", 'echo "$(@\n)"', "echo a$(@\n)b", "x=$(@\n)", "x=$(@\n) npm test", "echo <(@\n)",
    "cat <(@\n)", "npm test > >(@\n)", "echo ${x:-$(@\n)}", 'echo "${x:-$(@\n)}"', "echo $((1+$(@\n)))",
    "[[ -n $(@\n) ]]", "[ -n \"$(@\n)\" ]", "cat <<< $(@\n)", 'cat <<< "$(@\n)"',
    "cat <<EOF\n$(@\n)\nEOF\n", "cat <<-EOF\n\t$(@\n)\n\tEOF\n", "cat <<EOF\nit's $(@\n)\nEOF\n",
    "cat <<EOF; ls\n\"$(@\n)\nEOF\n", "export A=$(@\n)", "local A=$(@\n)", "a[$(@\n)]=1", "a=($(@\n))",
    "echo ${a[$(@\n)]}", "echo > $(@\n)", "npm test # c\n@", "# c\n@", "# it's\n@", "#\\\n@", "echo a#b; @",
    "echo ok #\\\n@", "echo hi\n@", "echo hi;@", "echo hi&&@", "echo hi&@", "echo hi|@", "! @", "time @",
    "time { @\n}", "coproc @", "coproc N { @\n}", "coproc { @\n}", "@ <<EOF\nhi\nEOF\n", "@ | ls",
    "@ && ls", "@\nls", "ls\n\n@\n", "\n@", "\t@", ": ${x:=$(@\n)}",
    "select i in a; do @\nbreak; done <<< 1", "{ @\n} > f", "(@\n) 2>/dev/null",
    "while read l; do @\ndone <<< a", "echo a | while read l; do @\ndone", "echo \\\n; @",
    "echo 'a\\\n'; @", 'echo "a\\\n"; @', "echo a \\\\\n@", "echo $'a\\\n'; @", "ls;;\n@",
    "echo \"a # b\"; @", "echo ${#x}; @", "echo $#; @", "echo a{b; @", "echo {a,b}; @", "[[ a =~ b ]]; @",
    "[[ a < b ]]\n@", "((1))\n@", "let x=1\n@", "echo a >&2; @", "echo 2>&1; @",
    "cat <<A <<B\na\nA\nb\nB\n@", "cat <<'E'\n'\nE\n@", "cat <<\\E\n`\nE\n@", 'cat <<"E"\n$(\nE\n@',
    "cat <<E\n\\$(\nE\n@", "cat <<-'E'\n\tx\n\tE\n@", "cat <<E|cat\nx\nE\n@", "cat <<E && @\nx\nE\n",
    "python - <<E\nx\nE\n@", "bash - <<E\n@\nE\n", "cat <<E; @\nx\nE\n", "if cat <<E; then @\nx\nE\nfi",
    "(cat <<E\nx\nE\n); @", "echo $(cat <<E\n)\nE\n); @", "echo $(cat <<'E'\n$(@)\nE\n)",
    "echo \"$(cat <<E\n$(@\n)\nE\n)\"", "x=1 y=2; @", "x=; @", "x+=1; @", "echo ~; @", "echo \\'; @",
    "echo \"'\"; @", "echo '\"'; @", "echo \\\"; @", "echo \\#; @", "echo $'\\''; @", "echo ${x#\"'\"}; @",
    "echo \"${x#'}\"; @", "echo \"${x:-'}\"; @", "echo {fd}>f; @", "exec {fd}>f; @", "exec 3>f; @",
    "echo a 3>&1; @", "echo &> f; @", "echo &>> f; @", "echo >| f; @", "echo <> f; @", "for i; do @\ndone",
    "for i in; do :; done; @", "[ a = b ] || @", "[[ a == @ ]]",
)  # fmt: skip
QUOTED_CONTEXTS = (
    "bash -c %", "sh -c %", "eval %", "bash -ec %", "bash -o errexit -c %", "bash --norc -c %",
    "env bash -c %", "trap % EXIT", "trap -- % EXIT", "bash <<< %", "timeout 5 bash -c %",
    "xargs -n1 bash -c % < /dev/null", "find . -maxdepth 0 -exec bash -c % \\;", "env -S \"bash -c\" %",
    "command eval %", "builtin eval %", "bash -c % a b", "nice bash -c %", "eval -- %",
)  # fmt: skip
PREFIXES = (
    "timeout 5 @", "timeout -k 1 5 @", "timeout --signal=9 5 @", "nice @", "nice -n 5 @", "nice -5 @",
    "nohup @", "env @", "env -i PATH=/bin @", "env A=b @", "env -u A @", "setsid @", "stdbuf -oL @",
    "command @", "exec @", "exec -a n @", "builtin command @", "time @", "ls | xargs @", "ls | xargs -n1 @",
    "ls | xargs -I{} @", "find . -maxdepth 0 -exec @ \\;", "find . -maxdepth 0 -exec @ {} +",
    "env - PATH=/bin @", "env -- @", "command -p @", "nohup nice timeout 5 @", "env -C / @",
    "timeout 5 env nice @", "ls | xargs -i @",
)  # fmt: skip
SUBSCRIPT_CONTEXTS = (
    "[[ % -eq 0 ]]", "printf -v % y", "test -v %", "[[ -v % ]]", "read % <<< 1", "let %", "declare %=1",
    "unset %", "x=%; echo $((x))", "x=%; [[ $x -eq 1 ]]", "x=%; echo ${y:x}", "x=%; let x",
    "x=%; declare -i y=x", 'x=%; test -v "$x"', 'x=%; printf -v "$x" y', "x=%; ((x))", "x=%; echo $[x]",
    'x=%; read "$x" <<< 1', "x=%; for ((;x;)); do break; done", "x=%; y[x]=1", "x=%; echo ${y[x]}",
    "export %", "x=%; [ 1 -eq x ]", "x=%; [[ 1 -lt x ]]", "[ -v % ]", "test % -eq 1", "x=%; [[ -v $x ]]",
    'x=%; unset "$x"', "mapfile % <<< 1", "time x=%", "time test -v %", "command test -v %",
    "builtin printf -v % y", "command [ % -eq 1 ]", "time declare %=1", "builtin declare x=%; echo $((x))",
)  # fmt: skip
SIMPLE = (
    "rm x", 'r"m" x', "\\rm x", "'rm' x", "/bin/rm x", "$'\\x72m' x", "r\\\nm x",
)  # fmt: skip
BACKQUOTE_CONTEXTS = (
    "echo %", 'echo "%"', "x=%", "cat <<EOF\n%\nEOF\n", "cat <<-EOF\n\ta %\n\tEOF\n", "echo ${x:-%}",
    "echo a%b", 'echo "${x:-%}"', "x=% npm test", "cat <<< %", "[[ -n % ]]", "echo $(echo %)", "echo > %",
    "echo $((1+%))", "for i in %; do :; done", "case % in a) ;; esac", 'cat <<EOF\n"%"\nEOF\n',
    "npm test %", "echo 'a' % \"b\"", "echo $%", "echo a$%", 'echo "$%"', "x=$%", "cat <<EOF\n$%\nEOF\n",
)  # fmt: skip
HARMLESS = (
    "echo 'rm x'", "echo rm x", "echo \\$\\(rm x\\)", "cat <<'EOF'\n$(rm x)\nEOF\n", "echo \"\\$(rm x)\"",
    "# rm x", "npm run rm", "echo '`rm x`'", "command -v rm", "echo a; # rm x", "git log --grep='rm x'",
    "echo \\`rm x\\`",
)  # fmt: skip
NOISE = [
    "\\", "'", '"', "\n", "#", ";", "&", " ", "$", "(", ")", "{", "}", "<", ">", "`", "\t", "|", "a", "!",
    "=", "*", "~", "[", "]", "\\\n", "<<E", "\nE\n", "$(", "${", "$'", "<(", "&&", ";;", "rm x", "-", "#'",
    "\r", "é", "\u00a0", "\u200b", "\x0b", "1", "((", "))", "[[ ", " ]]", "time ", "! ", "{ ", "; }", "fi",
    "do ", "in ",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A command, and whether a program it was built around stands in it as a literal word."""

    command: str
    literal: bool


def case(seed: int) -> Case:
    """The command of one seed; the same seed always gives the same command."""
    dice = random.Random(seed)
    kind = dice.random()
    if kind < 0.15:
        literal = False
        text = dice.choice(WRITING_SPELLINGS)
    elif kind < 0.6:
        literal = True
        text = dice.choice(LITERAL_SPELLINGS)
    elif kind < 0.8:
        literal = False
        text = dice.choice(UNKNOWN_SPELLINGS)
    else:
        literal = True
        text = dice.choice(HARMLESS)
    for _ in range(dice.choice((0, 1, 2, 2, 2, 3))):
        text, still = _wrapped(text, dice)
        literal = literal and still
    if dice.random() < 0.35:
        return Case(_disturbed(text, dice), literal=False)
    return Case(text, literal)


def _wrapped(text: str, dice: random.Random) -> tuple[str, bool]:
    """The text in a context, and whether the context leaves commands where they can be seen."""
    kind = dice.random()
    if kind < 0.05:
        subscript = single(f"a[$({text}\n)]")
        return dice.choice(SUBSCRIPT_CONTEXTS).replace("%", subscript), False
    if kind < 0.55:
        return dice.choice(PLAIN_CONTEXTS).replace("@", text), True
    if kind < 0.7:
        quote = dice.choice((single, single, double, ansi))
        return dice.choice(QUOTED_CONTEXTS).replace("%", quote(text)), True
    if kind < 0.85:
        return dice.choice(BACKQUOTE_CONTEXTS).replace("%", backquoted(text)), True
    simple = text if not set("\n;<") & set(text) else dice.choice(SIMPLE)
    return dice.choice(PREFIXES).replace("@", simple), True


def _disturbed(text: str, dice: random.Random) -> str:
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3))):
        place = dice.randrange(len(text) + 1)
        kind = dice.random()
        if kind < 0.7:
            text = text[:place] + dice.choice(NOISE) + text[place:]
        elif kind < 0.9:
            text = text[:place] + text[place + 1 :]
        else:
            other = dice.randrange(len(text) + 1)
            text = text[:place] + text[min(place, other) : max(place, other)] + text[place:]
    return text.replace("\x00", "")
