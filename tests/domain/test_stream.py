"""What stands of an answer after cuts, text put in, and calls that went on or began again."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.stream import Answer, Cut, Delta, End, Insert, Open, Resume, StreamLine, answer_of

OPEN = Open(0.0, "hunter", 1, 1, (1, 2), 2, 64)
TEXTS = st.text("ab\n", max_size=4)
IDS = st.lists(st.integers(0, 9), min_size=1, max_size=4).map(tuple)
PIECES = st.builds(Delta, st.just(0), st.just(0), TEXTS, IDS, st.sampled_from(["content", "reasoning"])) | st.builds(
    Insert, st.just(0), st.just("operator"), TEXTS, IDS
)


def said(text: str, *ids: int, thinks: bool = False) -> Delta:
    return Delta(0, 0, text, ids, "reasoning" if thinks else "content")


def test_nothing_stands_before_the_first_token() -> None:
    assert answer_of([OPEN]) == Answer("", "", (), None, "", 0)


def test_thoughts_are_kept_apart_and_in_their_place() -> None:
    answer = answer_of([OPEN, said("hm ", 1, thinks=True), said("a", 2), said("?", 3, thinks=True), End(0, "stop")])
    assert (answer.text, answer.reasoning, answer.raw) == ("a", "hm ?", "hm a?")
    assert (answer.ids, answer.finish) == ((1, 2, 3), "stop")


def test_a_cut_drops_what_lies_beyond_it_and_a_resume_adds_nothing() -> None:
    lines: list[StreamLine] = [OPEN, said("ab", 1, 2), said("cd", 3, 4), Cut(0, "steer", 2), Resume(0, 2), said("e", 5)]
    assert answer_of(lines).text == "abe"
    assert answer_of(lines).ids == (1, 2, 5)


def test_text_that_was_put_in_counts_like_the_models_own() -> None:
    lines: list[StreamLine] = [OPEN, said("a", 1), Insert(0, "operator", "bc", (2, 3)), said("d", 4), Cut(0, "edit", 3)]
    assert answer_of(lines).text == "abc"


def test_a_cut_inside_a_piece_drops_the_whole_piece() -> None:
    assert answer_of([OPEN, said("a", 1), said("bcd", 2, 3, 4), Cut(0, "edit", 3)]).ids == (1,)


def test_a_cut_after_the_end_takes_the_end_back() -> None:
    lines: list[StreamLine] = [OPEN, said("a", 1), End(0, "stop"), Cut(0, "edit", 1)]
    assert answer_of(lines).finish is None


def test_a_call_without_ids_begins_again_from_nothing() -> None:
    lines: list[StreamLine] = [OPEN, said("half"), Cut(0, "restart", 0), Resume(0, 0), said("whole"), End(0, "stop")]
    assert answer_of(lines).text == "whole"


def test_a_cut_that_keeps_all_keeps_pieces_without_ids_too() -> None:
    assert answer_of([OPEN, said("a", 1), Insert(0, "cockpit", "b"), Cut(0, "pause", 1)]).text == "ab"


@given(st.lists(PIECES, max_size=6), st.data())
def test_what_a_cut_keeps_is_a_beginning_of_what_there_was(pieces: list[StreamLine], data: st.DataObject) -> None:
    whole = answer_of(pieces)
    at = data.draw(st.integers(0, len(whole.ids)))
    cut = answer_of([*pieces, Cut(0, "edit", at)])
    assert len(cut.ids) <= at
    assert whole.raw.startswith(cut.raw)
    assert whole.ids[: len(cut.ids)] == cut.ids
    assert answer_of([*pieces, Cut(0, "pause", len(whole.ids))]).raw == whole.raw
