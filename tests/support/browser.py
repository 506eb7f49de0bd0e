# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven by its DevTools protocol over two pipes (https://chromedevtools.github.io/devtools-protocol)."""
import base64
import json
import os
import pathlib
import select
import subprocess
import tempfile
import time

LIMIT = 60.0


class Browser:
    """One page."""

    def __init__(self, width=1400, height=1000):
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        from_us, self._to = os.pipe()
        self._from, to_us = os.pipe()
        script = f"exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe --no-first-run " \
                 f"--user-data-dir={self._folder.name} --window-size={width},{height} about:blank 3<&{from_us} 4>&{to_us}"
        self._log = pathlib.Path(self._folder.name, "log").open("wb")
        self._process = subprocess.Popen(["bash", "-c", script], pass_fds=(from_us, to_us), stdout=self._log, stderr=self._log)
        os.close(from_us)
        os.close(to_us)
        self._number, self._bytes, self.errors, self._session = 0, b"", [], None
        target = self._do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._do(f"{domain}.enable")
        self._do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._log.close()
        self._folder.cleanup()

    def open(self, address):
        self._do("Page.navigate", url=address)

    def value(self, expression):
        """Of JavaScript, in the page."""
        answer = self._do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression, limit=LIMIT):
        """Until it is true; its value."""
        until, value = time.monotonic() + limit, None
        while time.monotonic() < until:
            value = self.value(f"document.body && ({expression})")
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{expression} is {value} after {limit} s; the page says {self.value('document.body.innerText')[:2000]}")

    def picture(self, path, whole=True):
        shot = self._do("Page.captureScreenshot", captureBeyondViewport=whole)  # of what is below the window, too
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _do(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(answer["params"])

    def _next(self):
        while b"\0" not in self._bytes:
            assert select.select([self._from], [], [], LIMIT)[0], "the browser does not answer"
            some = os.read(self._from, 1 << 20)
            assert some, "the browser has ended"
            self._bytes += some
        line, _, self._bytes = self._bytes.partition(b"\0")
        return json.loads(line)
