"""Judges evidence: one pure function a guard, one reason a person can act on."""
