"""Names every failure once, with the layer that is to blame."""

from enum import StrEnum


class Layer(StrEnum):
    """Who is to blame; infrastructure never counts against the model."""

    INFRASTRUCTURE = "infrastructure"
    PROTOCOL = "protocol"
    NAVIGATION = "navigation"
    EDIT = "edit"
    VERIFICATION = "verification"
    SEMANTIC = "semantic"
    STOP = "stop"


LABELS: dict[str, Layer] = {
    "server_unavailable": Layer.INFRASTRUCTURE,
    "auth_error": Layer.INFRASTRUCTURE,
    "model_mismatch": Layer.INFRASTRUCTURE,
    "ctx_overflow": Layer.INFRASTRUCTURE,
    "ctx_truncated": Layer.INFRASTRUCTURE,
    "prefill_timeout": Layer.INFRASTRUCTURE,
    "decode_timeout": Layer.INFRASTRUCTURE,
    "grammar_inactive": Layer.INFRASTRUCTURE,
    "disk_full": Layer.INFRASTRUCTURE,
    "consent_wanted": Layer.INFRASTRUCTURE,
    "repository_error": Layer.INFRASTRUCTURE,
    "env_broken": Layer.INFRASTRUCTURE,
    "engine_error": Layer.INFRASTRUCTURE,
    "flaky_baseline": Layer.INFRASTRUCTURE,
    "gen_length": Layer.PROTOCOL,
    "gen_repetition": Layer.PROTOCOL,
    "format_invalid": Layer.PROTOCOL,
    "thinking_only": Layer.PROTOCOL,
    "path_invalid": Layer.NAVIGATION,
    "nav_duplicate": Layer.NAVIGATION,
    "nav_exhausted": Layer.NAVIGATION,
    "search_missing": Layer.EDIT,
    "search_ambiguous": Layer.EDIT,
    "edit_noop": Layer.EDIT,
    "edit_ignored_path": Layer.EDIT,
    "patch_inapplicable": Layer.EDIT,
    "empty_patch": Layer.EDIT,
    "dirty_base": Layer.EDIT,
    "foreign_bytes": Layer.EDIT,
    "bloat": Layer.EDIT,
    "scope": Layer.EDIT,
    "lost_code": Layer.EDIT,
    "duplicate_symbol": Layer.EDIT,
    "copied_file": Layer.EDIT,
    "artifact": Layer.EDIT,
    "syntax_new": Layer.EDIT,
    "lint_new": Layer.EDIT,
    "type_new": Layer.EDIT,
    "test_timeout": Layer.VERIFICATION,
    "no_tests_ran": Layer.VERIFICATION,
    "false_green": Layer.VERIFICATION,
    "tampered": Layer.VERIFICATION,
    "wrong_package": Layer.VERIFICATION,
    "regression": Layer.VERIFICATION,
    "target_still_fails": Layer.VERIFICATION,
    "repro_invalid": Layer.VERIFICATION,
    "repro_not_flipped": Layer.VERIFICATION,
    "stuck": Layer.VERIFICATION,
    "verifier_reject": Layer.SEMANTIC,
    "wrong_location": Layer.SEMANTIC,
    "wrong_logic": Layer.SEMANTIC,
    "partial_fix": Layer.SEMANTIC,
    "over_broad": Layer.SEMANTIC,
    "budget_exhausted": Layer.STOP,
    "human_stop": Layer.STOP,
    "policy_block": Layer.STOP,
    "replay_exhausted": Layer.STOP,
}
"""Every label with its layer, in order of precedence: the first one hit names the attempt, the rest are flags."""


def layer_of(label: str) -> Layer:
    """Return the layer of a label; an unknown label is a programming error (KeyError)."""
    return LABELS[label]


def is_infrastructure(label: str) -> bool:
    """Tell whether a label must never count against the model."""
    return LABELS.get(label) is Layer.INFRASTRUCTURE
