"""Makes ``python -m cockpit`` the same as ``cockpit``."""

from cockpit.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
