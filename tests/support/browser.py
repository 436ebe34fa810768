"""A real browser for tests: Chromium without a window, driven over a pipe (--remote-debugging-pipe: messages of the DevTools protocol,
JSON ended by NUL, on its descriptors 3 and 4).  Software rendering, a profile of its own, no port, no driver.

    with Browser(directory) as browser:
        page = browser.open(path)
        page.key("Tab"), page.eval("document.title"), page.screenshot(), page.problems
"""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
DEADLINE = 120

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none",
         "--disable-features=Translate,MediaRouter,OptimizationHints", "--remote-debugging-pipe")

# Names of keys that are no characters: code, and the number that browsers knew it by.
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}
TEXTS = {"Enter": "\r"}
ALT, CONTROL, META, SHIFT = 1, 2, 4, 8


class Browser:
    def __init__(self, size=(1280, 900)):
        self.size = size
        self.home = tempfile.mkdtemp(prefix="seen-browser-")
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.events = []
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()
        self.log = open(os.path.join(self.home, "log"), "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            # The descriptors have to be 3 and 4; a shell puts them there, whatever these are.
            ["sh", "-c", f'exec 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-; exec "$@"'
             if min(to_browser, from_browser) > 4 else f'exec 8<&{to_browser} 9>&{from_browser}; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"',
             "sh", CHROMIUM, *FLAGS, f"--user-data-dir={self.home}/profile", f"--window-size={size[0]},{size[1]}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(to_browser, from_browser),
            env={**os.environ, "HOME": self.home, "XDG_RUNTIME_DIR": self.home})
        os.close(to_browser)
        os.close(from_browser)
        self.call("Target.setDiscoverTargets", discover=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            pass
        os.close(self.to)
        os.close(self.back)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def send(self, method, session, params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        return number

    def receive(self, end):
        """The next message; None when none came in time."""
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            got = os.read(self.back, 1 << 20)
            if not got:
                with open(os.path.join(self.home, "log"), "rb") as log:
                    raise AssertionError(f"the browser ended: {log.read()[-2000:]!r}")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, seconds=DEADLINE, **params):
        number = self.send(method, session, params)
        end = time.monotonic() + seconds
        while True:
            message = self.receive(end)
            if message is None:
                raise AssertionError(f"no answer to {method} within {seconds} s")
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def trace(self):
        """From now on every task of every page is recorded; until traced()."""
        self.call("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": ["toplevel", "__metadata"], "excludedCategories": ["*"]})

    def traced(self):
        """Milliseconds of processor time that each task of the pages' own threads took: not what it waited for other programs."""
        self.events = []
        self.call("Tracing.end")
        end = time.monotonic() + DEADLINE
        while not self.events or self.events[-1].get("method") != "Tracing.tracingComplete":
            message = self.receive(end)
            if message is None:
                raise AssertionError("the browser does not tell what it traced")
            self.events.append(message)
        traced = [event for message in self.events if message.get("method") == "Tracing.dataCollected" for event in message["params"]["value"]]
        self.events = []
        pages = {(event["pid"], event["tid"]) for event in traced if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"}
        return [event["tdur"] / 1000 for event in traced if event["ph"] == "X" and "tdur" in event and (event["pid"], event["tid"]) in pages]

    def open(self, path, before="", dark=False, size=None, reduced_motion=False):
        """A page of a file, loaded and drawn.  before: a script that runs ahead of the page's own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(*(size or self.size))
        page.media(dark=dark, reduced_motion=reduced_motion)
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        page.call("Page.navigate", url=path if "://" in str(path) else "file://" + os.path.abspath(path))
        page.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return page


class Page:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def resize(self, width, height, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def media(self, dark=False, reduced_motion=False, kind=""):
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}])

    def eval(self, expression):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not self.eval(expression):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {expression}")
            time.sleep(0.03)

    def key(self, key, modifiers=0, times=1):
        text = TEXTS.get(key, key if len(key) == 1 else "")
        number = KEYS.get(key, ord(key.upper()) if len(key) == 1 and key.isalnum() else 0)
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, code=key if len(key) > 1 else "",
                      text=text, windowsVirtualKeyCode=number, modifiers=modifiers)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=number, modifiers=modifiers)

    def type(self, text):
        for character in text:
            self.key(character)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, **({} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}))

    def wheel(self, x, y, dx=0, dy=0, modifiers=0):
        self.mouse("mouseWheel", x, y, deltaX=dx, deltaY=dy, modifiers=modifiers)

    def screenshot(self, element=None, scale=1):
        """A PNG: of what is in view, or of an element, whole, perhaps smaller."""
        clip = {"clip": {**self.box(element), "scale": scale}} if element else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(element), **clip)["data"])

    def box(self, element):
        return self.eval(f"(r => ({{x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}}))"
                         f"(({element}).getBoundingClientRect())")

    def wait_until_quiet(self):
        """Until two pictures were drawn, so that what came before has been."""
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    @property
    def messages(self):
        """What the page told since it was opened."""
        self.eval("1")  # what came before its answer is there
        return [event for event in self.browser.events if event.get("sessionId") == self.session]

    @property
    def problems(self):
        """Exceptions, errors and warnings of the console, refusals by the page's policy, dialogs."""
        bad = []
        for event in self.messages:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                bad.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                bad.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                bad.append(params["entry"]["text"])
            elif event["method"] == "Page.javascriptDialogOpening":
                bad.append(f"dialog: {params['message']}")
        return bad

    @property
    def requests(self):
        """What the page asked for, itself not counted."""
        return [event["params"]["request"]["url"] for event in self.messages
                if event["method"] == "Network.requestWillBeSent"][1:]
