"""A signal whose exception a finaliser swallows still ends the command."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, time
from crda_spec.cli.signals import check_stopped, stoppable

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.{signal})
        time.sleep(0.01)

signal.signal(signal.SIGINT, signal.{before})
with stoppable():
    lost = Swallows()
    del lost
    print("swallowed", flush=True)
    {then}
print("not stopped")
"""


@pytest.mark.parametrize("then", ["check_stopped()", "time.sleep(20)"], ids=["asked before writing", "raised again"])
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", -2), ("SIGTERM", 143)])
def test_a_swallowed_signal_still_stops(signal, code, then):
    script = SCRIPT.format(signal=signal, before="default_int_handler", then=then)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=15)
    assert (done.stdout, done.returncode) == ("swallowed\n", code)


def test_a_ctrl_c_that_a_background_job_ignores_stays_ignored():
    script = SCRIPT.format(signal="SIGINT", before="SIG_IGN", then="check_stopped()")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=15)
    assert (done.stdout, done.returncode) == ("swallowed\nnot stopped\n", 0)
