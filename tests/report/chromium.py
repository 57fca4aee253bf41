"""A real Chromium without a window, spoken to over a pipe (the DevTools protocol): no driver, no socket, no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

BINARY = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
# The browser reads commands from descriptor 3 and answers on 4; both may be taken while they are put in place.
_LAUNCH = """
import os, sys
read, write = (os.dup(int(number)) for number in sys.argv[1:3])
read, write = os.dup(read), os.dup(write)
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


class Chromium:
    """One browser with one page. Everything the page asks for is kept in `requests`, every error in `errors`."""

    def __init__(self, *, patience: float = 60.0) -> None:
        assert BINARY is not None
        self.patience, self.requests, self.errors = patience, [], []
        self._count, self._rest, self._events = 0, b"", []
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        command = [sys.executable, "-c", _LAUNCH, str(to_child), str(from_child), BINARY]
        self._process = subprocess.Popen(
            [*command, *_FLAGS, f"--user-data-dir={self._home.name}", "about:blank"],
            pass_fds=(to_child, from_child),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        os.close(self._read)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session: only this browser and its helpers
        self._process.wait(timeout=self.patience)
        self._home.cleanup()

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """One command, and its answer; what the browser tells meanwhile is kept."""
        self._count += 1
        wanted = self._count
        message = {"id": wanted, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next(time.monotonic() + self.patience)
            if told.get("id") == wanted:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]
            self._keep(told)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def _keep(self, told: dict[str, Any]) -> None:
        method, about = told.get("method"), told.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(
                about["exceptionDetails"].get("text", "") + str(about["exceptionDetails"].get("exception"))
            )
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {about['message']}")
            self._events.append("dialog")
        elif method:
            self._events.append(method)

    def open(
        self, file: Path, *, width: int = 1400, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> None:
        """Opens a file from disk and waits until it is loaded."""
        self.resize(width, height)
        self.media(dark=dark)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.requests, self.errors, self._events = [], [], []
        self.call("Page.navigate", url=file.resolve().as_uri())
        until = time.monotonic() + self.patience
        while "Page.loadEventFired" not in self._events:
            self._keep(self._next(until))

    def resize(self, width: int, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, *, dark: bool = False, kind: str = "") -> None:
        wish = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=wish)

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def hover(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        codes = {"Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def picture(self, file: Path) -> None:
        """The whole page, from top to bottom."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def paper(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
