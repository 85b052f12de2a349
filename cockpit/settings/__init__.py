"""Reads settings: ``config.toml``, then ``COCKPIT_*`` variables, then flags."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit.settings.load import load_settings
    from cockpit.settings.schema import Settings

__all__ = ["Settings", "load_settings"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module's names are of any type
    """Import pydantic only for those who need settings: listing tasks needs paths alone, and it costs 0.3 s."""
    if name == "Settings":
        from cockpit.settings.schema import Settings

        return Settings
    if name == "load_settings":
        from cockpit.settings.load import load_settings

        return load_settings
    raise AttributeError(name)
