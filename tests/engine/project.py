"""A small project with one bug that its tests see, and the answers a model could give."""

from pathlib import Path

from tests.gitkit import make_repo

CART = '''"""Adds up a shopping cart."""


def total(prices):
    """Return the sum of all prices."""
    result = 0
    for price in prices[:-1]:
        result += price
    return result


def cheapest(prices):
    """Return the lowest price."""
    return min(prices)
'''
FIXED_CART = CART.replace("prices[:-1]", "prices")
TESTS = """from shop.cart import cheapest, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_cheapest():
    assert cheapest([3, 1, 2]) == 1
"""
ISSUE = "total() in shop/cart.py leaves out the last price: total([1, 2, 3]) returns 3, it should return 6."


def make_project(path: Path, extra: dict[str, str] | None = None) -> Path:
    """Make the repository."""
    files = {
        "shop/__init__.py": "",
        "shop/cart.py": CART,
        "tests/test_cart.py": TESTS,
        ".gitignore": "build/\n__pycache__/\n.pytest_cache/\n",
    }
    return make_repo(path, files | (extra or {}))


def whole(path: str, text: str) -> str:
    """Write a whole-file answer."""
    return f"The loop stops one price too early.\n\n{path}\n```python\n{text}```\n"


def blocks(path: str, *pairs: tuple[str, str]) -> str:
    """Write a SEARCH/REPLACE answer."""
    body = "".join(f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n" for old, new in pairs)
    return f"The loop stops one price too early.\n\n{path}\n```python\n{body}```\n"


RIGHT_ANSWER = whole("shop/cart.py", FIXED_CART)
