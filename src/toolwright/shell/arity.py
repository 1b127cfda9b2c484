"""How many words of a command say what it does: ``npm run build`` three, ``git push`` two."""

from toolwright.shell.units import Word

_TWO = frozenset({
    "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "pip", "pip3", "uv", "poetry", "conda", "docker",
    "podman", "kubectl", "helm", "terraform", "systemctl", "apt", "apt-get", "brew", "dnf", "yum", "gh",
    "glab", "make", "just", "rake", "bundle", "gem", "dotnet", "mvn", "gradle", "deno", "npx", "bunx",
    "pipx", "uvx", "composer", "php", "artisan", "rails", "mix", "flutter", "dart", "swift", "stack",
    "cabal", "nix", "task", "tox", "nox", "hatch", "pdm", "rye", "pre-commit", "journalctl", "firebase",
    "heroku", "vercel", "netlify", "fly", "supabase", "tofu", "ansible", "vagrant",
})  # fmt: skip
_THREE = frozenset({
    ("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"),
    ("uv", "run"), ("podman", "compose"), ("docker", "container"), ("docker", "image"), ("poetry", "run"),
    ("git", "stash"), ("git", "worktree"), ("git", "remote"), ("git", "submodule"), ("gh", "pr"),
    ("gh", "issue"), ("gh", "run"), ("npm", "exec"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("uv", "pip"), ("bundle", "exec"), ("kubectl", "get"), ("kubectl", "describe"), ("go", "mod"),
    ("cargo", "run"), ("dotnet", "tool"),
})  # fmt: skip
_THREE_ALWAYS = frozenset({
    "aws", "gcloud", "az",
})  # fmt: skip


def telling_words(words: tuple[Word, ...]) -> tuple[str, ...]:
    """The words at the start of a command that a saved rule should keep; all literal."""
    texts: list[str] = []
    for word in words[:3]:
        if word.text is None or (texts and word.text.startswith("-")):
            break
        texts.append(word.text)
    return tuple(texts[: _arity(texts)])


def _arity(texts: list[str]) -> int:
    if not texts:
        return 0
    if texts[0] in _THREE_ALWAYS or tuple(texts[:2]) in _THREE:
        return 3
    return 2 if texts[0] in _TWO else 1
