"""Documents found by words."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.tools.ranking import Field, Index, stem, words

FIELDS = {"name": Field(10, inside=5), "text": Field(1)}
SOME = [
    ("create_issue", {"name": "create_issue", "text": "Open an issue in a repository."}),
    ("list_issues", {"name": "listIssues", "text": "Show the issues of a repository, newest first."}),
    ("send_message", {"name": "send-message", "text": "Post a message to a channel."}),
    ("notify", {"name": "notify", "text": "Send a short message to a phone."}),
    ("empty", {}),
]


def keys(query: str, limit: int = 5) -> list[str]:
    return [hit.key for hit in Index(FIELDS, SOME).search(words(query), limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("createPullRequest", ["creat", "pull", "request"]),
        ("HTTPServer.get_file-names", ["http", "server", "get", "fil", "nam"]),
        ("What is the time in Tokyo?", ["tim", "tokyo"]),
        ("größe v2", ["größ", "v", "2"]),
        ("", []),
    ],
)
def test_names_of_every_spelling_and_sentences_become_stems(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("files", "file"),
        ("listing", "list"),
        ("created", "create"),
        ("running", "run"),
        ("searches", "search"),
    ],
)
def test_forms_of_a_word_meet_in_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["class", "is", "ring", "red", "process"])
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert stem(word).startswith(word[:3])
    assert len(stem(word)) >= 2


def test_a_word_of_the_name_weighs_more_than_one_of_the_text() -> None:
    assert keys("message")[0] == "send_message"


def test_a_part_of_a_word_of_the_name_is_found() -> None:
    assert keys("notif")[:1] == ["notify"]
    assert keys("iss") == ["create_issue", "list_issues"]


def test_what_holds_no_word_of_the_query_never_comes() -> None:
    assert keys("zebra") == []
    assert "empty" not in keys("issue message repository channel phone")


def test_a_condition_leaves_documents_out() -> None:
    index = Index(FIELDS, SOME)
    assert [hit.key for hit in index.search(words("issue"), 5, accepts=lambda key: "list" in key)] == [
        "list_issues"
    ]


def test_equal_scores_stand_in_the_order_of_their_keys_whatever_the_limit_cuts() -> None:
    documents = [(f"k{number:03}", {"name": "same"}) for number in range(50)]
    random.Random(7).shuffle(documents)
    found = Index(FIELDS, documents).search(words("same"), 5)
    assert [hit.key for hit in found] == ["k000", "k001", "k002", "k003", "k004"]


def test_nothing_is_found_in_nothing() -> None:
    assert Index(FIELDS, ()).search(words("anything"), 5) == []


@given(st.permutations(SOME), st.text(max_size=30))
def test_the_order_of_the_documents_makes_no_difference(
    documents: list[tuple[str, dict[str, str]]], text: str
) -> None:
    query = words(text + " issue message")
    ordered = [(hit.key, round(hit.score, 9)) for hit in Index(FIELDS, SOME).search(query, 5)]
    shuffled = [(hit.key, round(hit.score, 9)) for hit in Index(FIELDS, documents).search(query, 5)]
    assert ordered == shuffled


@given(st.text(max_size=60))
def test_any_text_can_be_asked_for(text: str) -> None:
    hits = Index(FIELDS, SOME).search(words(text), 3)
    assert len(hits) <= 3
    assert all(hit.score > 0 for hit in hits)
