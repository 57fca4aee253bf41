"""One thread for all, and a plugin installed the way a package would be: by its dist-info."""

import sys

import pytest
from hypothesis import settings
from regressor_parts import PLUGIN, install_plugin, quick
from threadpoolctl import threadpool_limits

from crda_spec.regressors import Plugin

settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="module")  # not longer: a module that must see no plugin may follow in this process
def installed_plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install_plugin(folder, PLUGIN)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def member(request, installed_plugin):
    """The family member of the parametrised kind, with settings that fit quickly."""
    return (
        Plugin(name="normal_equations", settings={"penalty": 1e-6}).load()
        if request.param == "plugin"
        else quick(request.param)
    )
