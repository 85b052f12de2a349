"""Settings for all tests, and the one real model server they share."""

import importlib.util
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from cockpit.adapters import model_parts, server_process
from cockpit.domain.errors import CockpitError
from cockpit.settings import Settings
from cockpit.settings.schema import EmbeddedSettings

# A busy machine is no fault of the code: properties are judged by what they find, not by how long they take.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server_process.ServerRecord]:
    """One embedded server with the demo model for the whole session: two would starve each other."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no real server: xllamacpp is not installed (the extra 'local')")
    try:
        model = model_parts.ensure_model()
    except CockpitError as error:
        pytest.skip(f"no real model: {error.message}")
    home = tmp_path_factory.mktemp("model-server")
    wishes = Settings(embedded=EmbeddedSettings.model_validate({"threads": 2, "slots": 2, "context_tokens": 4096}))
    yield server_process.start(home, wishes, model.path, wait_s=600)
    server_process.stop(home)
