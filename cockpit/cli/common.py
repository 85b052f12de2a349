"""Turns the common flags into a home, a client and settings; imports nothing heavy on its own."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.client.client import Client
from cockpit.journal.layout import Home
from cockpit.settings.paths import home_dir

if TYPE_CHECKING:
    from cockpit.settings import Settings


def home_of(args: argparse.Namespace) -> Home:
    """Return the home that ``--home`` names, by default ``$COCKPIT_HOME``; nothing is made."""
    return Home(Path(args.home).expanduser().absolute() if args.home else home_dir())


def client_of(args: argparse.Namespace) -> Client:
    """Return a client of that home; raises ``UsageError`` when a newer version wrote it."""
    home = home_of(args)
    home.check_format()
    return Client(home)


def settings_of(args: argparse.Namespace) -> "Settings":
    """Load the settings with the flags on top; raises ``UsageError``."""
    from cockpit.settings import load_settings  # pydantic costs 0.3 s

    return load_settings({"server": {"url": args.server_url}} if args.server_url else None)
