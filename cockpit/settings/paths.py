"""Knows where things lie: the one place that reads XDG variables."""

import os
from pathlib import Path

import platformdirs


def home_dir() -> Path:
    """Return ``$COCKPIT_HOME``, by default ``$XDG_STATE_HOME/cockpit``."""
    chosen = os.environ.get("COCKPIT_HOME")
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_state_dir("cockpit"))


def config_file() -> Path:
    """Return ``$XDG_CONFIG_HOME/cockpit/config.toml``."""
    return Path(platformdirs.user_config_dir("cockpit")) / "config.toml"


def model_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/cockpit/models``, where the embedded model is assembled."""
    return Path(platformdirs.user_cache_dir("cockpit")) / "models"
