import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from _figures import plt

    plt.close("all")
