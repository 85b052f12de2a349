"""Reads settings: ``config.toml``, then ``COCKPIT_*`` variables, then flags."""

from cockpit.settings.load import load_settings
from cockpit.settings.schema import Settings

__all__ = ["Settings", "load_settings"]
