"""Reads definitions off a syntax tree: what kind, which name, which lines; knows nothing of the parser behind it."""
# ruff: noqa: D102  # the protocols mirror the parser's own names, explained there

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

MAX_SYMBOLS = 5000
MAX_NODES = 200_000
"""Nodes looked at in one file; a file beyond it is generated data, and its outline ends there."""
MAX_SIGNATURE = 160


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition of a file."""

    kind: str
    """``class``, ``function``, ``method``, ``struct``, ``enum``, ``interface``, ``trait``, ``impl``, ``type``, …"""
    name: str
    """Qualified by dots: ``Cart.total``."""
    start_line: int
    """From 1; decorators and ``export`` belong to the definition."""
    end_line: int
    """The last line, included."""
    signature: str
    """The head of the definition on one line, at most 160 characters."""


class Node(Protocol):
    """What is used of a parser's node."""

    @property
    def type(self) -> str: ...
    @property
    def text(self) -> bytes | None: ...
    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...
    @property
    def start_point(self) -> "Point": ...
    @property
    def end_point(self) -> "Point": ...
    @property
    def named_children(self) -> Sequence["Node"]: ...
    def child_by_field_name(self, name: str, /) -> "Node | None": ...


class Point(Protocol):
    """A place in a file."""

    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...


C_KINDS = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "type",
}
JAVASCRIPT_KINDS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "function",
}
TYPESCRIPT_KINDS = JAVASCRIPT_KINDS | {
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "public_field_definition": "method",
    "internal_module": "namespace",
    "module": "namespace",
}
KINDS: Mapping[str, Mapping[str, str]] = {
    "python": {"function_definition": "function", "class_definition": "class"},
    "javascript": JAVASCRIPT_KINDS,
    "typescript": TYPESCRIPT_KINDS,
    "tsx": TYPESCRIPT_KINDS,
    "go": {"function_declaration": "function", "method_declaration": "method", "type_spec": "type"},
    "rust": {
        "function_item": "function",
        "function_signature_item": "function",
        "struct_item": "struct",
        "enum_item": "enum",
        "union_item": "union",
        "trait_item": "trait",
        "impl_item": "impl",
        "mod_item": "module",
        "type_item": "type",
        "macro_definition": "macro",
    },
    "java": {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "record",
        "annotation_type_declaration": "annotation",
        "method_declaration": "method",
        "constructor_declaration": "method",
    },
    "c": C_KINDS,
    "cpp": C_KINDS | {"class_specifier": "class", "namespace_definition": "namespace"},
}
"""Node type -> kind, by language."""
CALLABLE = ("function", "method", "macro")
WRAPPERS = ("decorated_definition", "export_statement", "template_declaration", "lexical_declaration")
"""Nodes whose lines belong to the one definition inside."""
OPEN = frozenset(
    (
        *WRAPPERS, "ERROR", "block", "body", "class_body", "interface_body", "enum_body", "enum_body_declarations",
        "declaration_list", "field_declaration_list", "statement_block", "variable_declaration", "expression_statement",
        "ambient_declaration", "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause",
        "finally_clause", "with_statement", "linkage_specification", "type_declaration", "preproc_if", "preproc_ifdef",
        "preproc_else", "preproc_elif", "declaration", "field_declaration", "annotation_type_body",
    )
)  # fmt: skip
"""Nodes that may hold definitions without being one."""
FUNCTION_VALUES = ("arrow_function", "function_expression", "function", "generator_function", "class")
RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)\s*$")
TAIL = re.compile(r"\s*(?:=>|[{:=])\s*$")
GENERICS = re.compile(r"<.*", re.DOTALL)


class _Spot(NamedTuple):
    node: Node
    prefix: str
    wrapper: Node | None


def read_symbols(root: Node, language: str) -> tuple[Symbol, ...]:
    """Return the definitions of a tree in the order of the file; bodies of functions are not entered."""
    kinds = KINDS.get(language, {})
    found: list[Symbol] = []
    stack = [_Spot(child, "", None) for child in reversed(root.named_children)]
    seen = 0
    while stack and len(found) < MAX_SYMBOLS and seen < MAX_NODES:
        seen += 1
        spot = stack.pop()
        kind = kinds.get(spot.node.type)
        symbol = _symbol(spot, kind) if kind else None
        if symbol:
            found.append(symbol)
        if symbol and symbol.kind in CALLABLE:
            continue
        if symbol or kind or spot.node.type in OPEN:
            prefix = symbol.name if symbol else spot.prefix
            stack.extend(_Spot(node, prefix, _wrapper(spot)) for node in reversed(_inside(spot.node)))
    return tuple(found)


def _inside(node: Node) -> Sequence[Node]:
    body = node.child_by_field_name("body")
    return body.named_children if body else node.named_children


def _wrapper(spot: _Spot) -> Node | None:
    node = spot.node
    if node.type not in WRAPPERS or (node.type == "lexical_declaration" and len(node.named_children) > 1):
        return None
    return spot.wrapper or node


def _symbol(spot: _Spot, kind: str) -> Symbol | None:
    node = spot.node
    name = _name(node)
    if not name:
        return None
    if kind == "function" and spot.prefix and node.type == "function_definition":
        kind = "method"
    outer = spot.wrapper or node
    qualified = f"{spot.prefix}.{name}" if spot.prefix else name
    return Symbol(kind, qualified, outer.start_point.row + 1, _end_line(outer), _signature(node))


def _end_line(node: Node) -> int:
    """Return the last line; a node that ends at the very start of a line ends on the line before."""
    end = node.end_point
    return max(end.row + (end.column > 0), node.start_point.row + 1)


def _name(node: Node) -> str:
    match node.type:
        case "variable_declarator" | "public_field_definition":
            value = node.child_by_field_name("value")
            return _field(node, "name") if value and value.type in FUNCTION_VALUES else ""
        case "impl_item":
            return GENERICS.sub("", _field(node, "type"))
        case "method_declaration" if node.child_by_field_name("receiver"):
            owner = RECEIVER.search(_field(node, "receiver"))
            return f"{owner[1]}.{_field(node, 'name')}" if owner else _field(node, "name")
        case "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier":
            return _field(node, "name") if node.child_by_field_name("body") else ""
        case "function_definition" | "type_definition" if not node.child_by_field_name("name"):
            return _declared(node)
    return _field(node, "name")


def _declared(node: Node) -> str:
    """Follow C's declarators down to the name; ``Cart::total`` becomes ``Cart.total``."""
    inner: Node | None = node
    for _ in range(20):
        below = inner.child_by_field_name("declarator") if inner else None
        if below is None:
            break
        inner = below
    if inner is None or inner is node:
        return ""
    if inner.type == "reference_declarator" and inner.named_children:
        inner = inner.named_children[0].child_by_field_name("declarator") or inner.named_children[0]
    return _text(inner).replace("::", ".")


def _field(node: Node, name: str) -> str:
    child = node.child_by_field_name(name)
    return _text(child) if child else ""


def _text(node: Node) -> str:
    return " ".join((node.text or b"")[: 4 * MAX_SIGNATURE].decode("utf-8", "replace").split())[:MAX_SIGNATURE]


def _signature(node: Node) -> str:
    body = node.child_by_field_name("body")
    length = body.start_byte - node.start_byte if body else node.end_byte - node.start_byte
    head = (node.text or b"")[: min(length, 4 * MAX_SIGNATURE)].decode("utf-8", "replace")
    text = head if body else head.split("\n", 1)[0]
    return TAIL.sub("", " ".join(text.split()))[:MAX_SIGNATURE]
