import subprocess
import sys
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.adapters.syntax import language_of, outline, parse_errors, syntax_deltas
from cockpit.domain.evidence import ChangeKind, FileChange

GOOD = {
    "a.py": (
        "@dec\n@dec2\nclass Cart(Base):\n    @property\n    def total(self) -> int:\n        return 1\n"
        "\n\ndef f(a,\n      b):\n    pass\n"
    ),
    "a.js": "export const add = (a, b) => a + b;\nclass Cart { total() { return 1 } }\nfunction f() {}\n",
    "a.ts": "export interface I { a(): void }\nexport class Cart { total(): number { return 1 } }\ntype T = string;\n",
    "a.tsx": "export function View() { return <b>x</b> }\n",
    "a.go": "package x\ntype Cart struct{}\nfunc (c *Cart) Total() int { return 1 }\nfunc F() {}\n",
    "a.rs": "pub struct Cart<T> { a: T }\nimpl<T> Cart<T> { pub fn total(&self) -> u8 { 1 } }\nmod m { fn g() {} }\n",
    "A.java": "class Cart { Cart() {} int total() { return 1; } enum E { A } }\n",
    "a.c": "#ifdef X\nstatic int *f(int a) { return 0; }\n#endif\nstruct s { int a; };\ntypedef struct { int b; } t;\n",
    "a.cpp": (
        "namespace n { template <class T> class Cart { int total() { return 1; } }; }\nint n::Cart::g() { return 1; }\n"
    ),
}
NAMES = {
    "a.py": ["Cart", "Cart.total", "f"],
    "a.js": ["add", "Cart", "Cart.total", "f"],
    "a.ts": ["I", "Cart", "Cart.total", "T"],
    "a.tsx": ["View"],
    "a.go": ["Cart", "Cart.Total", "F"],
    "a.rs": ["Cart", "Cart", "Cart.total", "m", "m.g"],
    "A.java": ["Cart", "Cart.Cart", "Cart.total", "Cart.E"],
    "a.c": ["f", "s", "t"],
    "a.cpp": ["n", "n.Cart", "n.Cart.total", "n.Cart.g"],
}


@pytest.mark.parametrize("path", GOOD)
def test_sound_source_has_no_errors_and_an_outline_in_order(path: str) -> None:
    source = GOOD[path].encode()
    assert parse_errors(path, source) == (language_of(path), 0, "")
    assert [symbol.name for symbol in outline(path, source)] == NAMES[path]


@pytest.mark.parametrize("path", GOOD)
def test_source_cut_in_the_middle_has_errors_at_a_line(path: str) -> None:
    source = GOOD[path].encode()
    language, count, first = parse_errors(path, source[: source.rindex(b"{" if b"{" in source else b"):")] + b"(")
    assert language == language_of(path)
    assert count > 0
    assert first.startswith("line ")


def test_decorators_belong_to_a_definition_and_its_signature_is_one_line() -> None:
    cart, total, f = outline("a.py", GOOD["a.py"].encode())
    assert (cart.kind, cart.start_line, cart.end_line, cart.signature) == ("class", 1, 6, "class Cart(Base)")
    assert (total.kind, total.start_line) == ("method", 4)
    assert f.signature == "def f(a, b)"


@pytest.mark.parametrize(
    ("source", "first"),
    [
        ("def f():\n    x = 1\n      y = 2\n", "line 3: unexpected indent"),
        ("def f():\nx = 1\n", "line 2: expected an indented block after function definition on line 1"),
        ("x = (\n", "line 1: '(' was never closed"),
        ("return 1\n", "line 1: 'return' outside function"),
        ("def f():\n    pass\n<<<<<<< SEARCH\n", "line 3: invalid syntax"),
    ],
)
def test_python_faults_are_told_in_the_words_of_its_compiler(source: str, first: str) -> None:
    assert parse_errors("a.py", source.encode())[2] == first


@pytest.mark.parametrize("source", ["type X = int\n", "def f[T](x): pass\n", "f'{a['b']}'\n"])
def test_syntax_newer_than_this_interpreter_is_no_error(source: str) -> None:
    assert parse_errors("a.py", source.encode()) == ("python", 0, "")


def test_source_is_never_executed_and_its_warnings_stay_quiet() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert parse_errors("a.py", b"raise SystemExit(3)\n") == ("python", 0, "")
        assert parse_errors("a.py", b"x = '\\d'\nassert (1, 'x')\n1 is 1\n") == ("python", 0, "")
    assert seen == []


@pytest.mark.parametrize("path", ["README.md", "Makefile", "py", "a.py/", "", ".py/x"])
def test_a_file_of_no_known_language_is_not_judged(path: str) -> None:
    assert parse_errors(path, b"((((") == (None, 0, "")
    assert outline(path, b"def f(): pass\n") == ()


@pytest.mark.parametrize(
    "source",
    [
        b"(" * 10_000_000,
        b"(" * 500_000,
        b"-" * 400_000 + b"1",
        b"a" + b".b" * 200_000,
        b"class A {" * 20_000,
        b"\x00" * 1000,
        bytes(range(256)) * 100,
        b"# coding: utf-7\n+AGEAYg-\n",
        b"# coding: no-such-codec\n",
    ],
    ids=lambda source: repr(source[:8]),
)
@pytest.mark.parametrize("path", ["a.py", "a.c"])
def test_hostile_source_ends_without_a_crash(path: str, source: bytes) -> None:
    language, count, _ = parse_errors(path, source)
    assert language in (language_of(path), None)
    assert count >= 0
    assert isinstance(outline(path, source), tuple)


def test_a_file_the_grammar_cannot_get_through_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cockpit.adapters.syntax.PARSE_S", 0.2)
    assert parse_errors("a.c", b"if(a)else " * 50_000) == (None, 0, "")


@given(st.sampled_from(sorted(GOOD)), st.binary(max_size=60))
def test_any_bytes_can_be_parsed(path: str, source: bytes) -> None:
    assert parse_errors(path, source)[1] >= 0
    for symbol in outline(path, source):
        assert 1 <= symbol.start_line <= symbol.end_line <= source.count(b"\n") + 1


def changed(path: str, old: bytes | None, new: bytes | None, **values: Any) -> FileChange:  # noqa: ANN401  # any field
    return FileChange(
        path,
        values.pop("kind", ChangeKind.TEXT),
        **({"old": old, "new": new, "is_new": old is None, "is_deleted": new is None} | values),
    )


def test_only_new_errors_count_and_the_first_new_one_is_named() -> None:
    old = b"x = (\n"
    new = b"def f():\n    pass\ny = )\nx = (\n"
    (delta,) = syntax_deltas([changed("a.py", old, new)])
    assert delta.errors_after > delta.errors_before > 0
    assert delta.first_error.startswith("line 3")
    (same,) = syntax_deltas([changed("a.py", old, b"# note\n" + old)])
    assert same.errors_after == same.errors_before
    assert same.first_error == ""


def test_a_new_file_counts_from_zero_and_a_renamed_one_from_its_old_name() -> None:
    (fresh,) = syntax_deltas([changed("a.py", None, b"x = (\n")])
    assert (fresh.errors_before, fresh.errors_after > 0) == (0, True)
    (moved,) = syntax_deltas([changed("b.py", b"x = (\n", b"x = (\n", old_path="a.py")])
    assert moved.errors_before == moved.errors_after


def test_deleted_foreign_linked_and_unread_files_are_left_out() -> None:
    assert (
        syntax_deltas(
            [
                changed("a.py", b"x\n", None),
                changed("a.md", b"x\n", b"(\n"),
                changed("a.py", None, b"../(", kind=ChangeKind.SYMLINK),
                changed("a.py", None, b"x = (\n", is_new=False),
                changed("a.py", b"x\n", b"(" * 3_000_000),
            ]
        )
        == ()
    )


def test_a_grammar_is_imported_only_when_its_language_is_met() -> None:
    code = (
        "import sys, cockpit.adapters.syntax as s; assert 'tree_sitter' not in sys.modules\n"
        "s.parse_errors('a.go', b'package x')\n"
        "print(sorted(name for name in sys.modules if name.startswith('tree_sitter_')))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "tree_sitter_go" in printed
    assert "tree_sitter_python" not in printed
