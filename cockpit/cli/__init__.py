"""The command line: every verb, with ``--json`` and exit codes 0, 1, 2."""
