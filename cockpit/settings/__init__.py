"""Reads settings: ``config.toml``, then ``COCKPIT_*`` variables, then flags."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit.settings.load import load_settings
    from cockpit.settings.schema import Settings

__all__ = ["Settings", "load_settings"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a function or a class
    """Import late: pydantic costs 0.3 s, and ``cockpit.settings.paths`` does not need it."""
    if name == "load_settings":
        from cockpit.settings.load import load_settings

        return load_settings
    if name == "Settings":
        from cockpit.settings.schema import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
