"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# A busy machine is no fault of the code: properties are judged by what they find, not by how long they take.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
