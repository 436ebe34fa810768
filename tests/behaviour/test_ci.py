"""CI: action.yml, the template of GitLab CI and the development container feature, each played step by step as a runner does.

The release that they install from is a package of this build behind a web server.
"""
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from driver import BUILD, DEADLINE, SANITIZED, SOURCE, Case

try:
    import yaml
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import yaml
    except ImportError:
        yaml = None

VERSION = "9.8.7"
AGENT = """#!/usr/bin/python3
import os, subprocess
for command in ("cat f.txt", "cat f.txt", "echo changed > f.txt"):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    print(done.stdout[:60].decode())
raise SystemExit(int(os.environ.get("AGENT_STATUS", 0)))
"""
RULE = "[rule notes]\nop = write\npath = f.txt\naction = warn\n"
LINE = re.compile(r"::(warning|error|notice) ([^:]*)::(.*)")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipIf(SANITIZED, "what is installed is not sanitized")
@unittest.skipIf(yaml is None or not shutil.which("curl"), "no yaml for Python, or no curl")
class Runner(Case):
    @classmethod
    def setUpClass(cls):
        release = pathlib.Path(tempfile.mkdtemp(prefix="seen-release-"))
        cls.addClassCleanup(shutil.rmtree, release, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            tree = pathlib.Path(scratch, "usr")
            for directory in ("bin", "lib", "share"):
                shutil.copytree(BUILD / directory, tree / directory, symlinks=True)
            (tree / "share/doc/seen").mkdir(parents=True)
            subprocess.run([str(SOURCE / "packaging/packages.py"), "--tree", scratch, "--arch", os.uname().machine, "--version", VERSION,
                            "--output", str(release), "tar"], check=True, stdout=subprocess.DEVNULL)
        cls.release = release
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(release)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.releases = f"http://127.0.0.1:{server.server_address[1]}"

    def setUp(self):
        super().setUp()
        (self.top / "bin").mkdir()
        (self.top / "bin/claude").write_text(AGENT)
        (self.top / "bin/claude").chmod(0o755)
        self.file("f.txt")
        with open(self.home / ".config/seen/seen.ini", "a", encoding="utf-8") as file:
            file.write(RULE)
        self.env["PATH"] = f"{self.top}/bin:{self.env['PATH']}"

    def assert_exported(self, directory):
        events = [json.loads(line) for line in (directory / "seen.jsonl").read_text().splitlines()]
        self.assertEqual([event["op"] for event in events if event["op"] in ("given", "notice")], ["given", "notice"])
        self.assertEqual(json.loads((directory / "seen.sarif").read_text())["version"], "2.1.0")
        self.assertIn("f.txt", (directory / "seen.md").read_text())


class GitHub(Runner):
    """What the runner does with a composite action: github.com/actions/runner, docs.github.com "Metadata syntax"."""

    def play(self, inputs, ref="v" + VERSION, **variables):
        """Runs action.yml.  Returns (the result of each step, all that was printed, the outputs of the action, the uploads)."""
        action = yaml.safe_load((SOURCE / "action.yml").read_text())
        self.assertEqual(action["runs"]["using"], "composite")
        temporary = self.top / "runner-temp"
        temporary.mkdir()
        env = {**self.env, **variables, "GITHUB_STEP_SUMMARY": str(self.top / "summary"), "RUNNER_TEMP": str(temporary)}
        context = {"github.workspace": str(self.work), "github.action_ref": ref, "github.action_path": str(SOURCE),
                   "github.server_url": "https://forge.example", "github.action_repository": "owner/seen"}
        self.assertLessEqual(set(inputs), set(action["inputs"]))

        def value(text):
            return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: context[match[1]] if match[1][:6] != "steps." else context.get(match[1], ""), str(text))

        for name, spec in action["inputs"].items():
            self.assertTrue(name in inputs or "default" in spec or spec.get("required"), name)
            context["inputs." + name] = inputs[name] if name in inputs else value(spec.get("default", ""))
        results, printed, uploads, is_failed = {}, "", [], False
        for step in action["runs"]["steps"]:
            condition = step.get("if", "success()").replace("always()", "True").replace("success()", str(not is_failed)).replace("&&", "and")
            condition = re.sub(r"(inputs|steps)\.[\w.-]+", lambda match: repr(context[match[0]]), condition)
            outcome = f"steps.{step.get('id')}.outcome"
            if not eval(condition):
                results[step["name"]] = context[outcome] = "skipped"
                continue
            if "uses" in step:
                uploads.append({key: value(one) for key, one in step["with"].items()})
                continue
            self.assertNotIn("${{", step["run"], "text of others in a script")
            files = {name: self.top / f"{name}.{len(results)}" for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_ENV")}
            for path in files.values():
                path.touch()
            script = self.top / "step.sh"
            script.write_text(step["run"])
            done = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)], cwd=value(step.get("working-directory", self.work)),
                                  env={**env, **{name: value(text) for name, text in step.get("env", {}).items()}, **{k: str(v) for k, v in files.items()}},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False)
            printed += done.stdout
            results[step["name"]], context[outcome] = done.returncode, "failure" if done.returncode else "success"
            is_failed = is_failed or done.returncode != 0
            env["PATH"] = ":".join([*reversed(files["GITHUB_PATH"].read_text().split("\n")[:-1]), env["PATH"]])
            for line in files["GITHUB_OUTPUT"].read_text().splitlines():
                context[f"steps.{step['id']}.outputs.{line.partition('=')[0]}"] = line.partition("=")[2]
        return results, printed, {name: value(spec["value"]) for name, spec in action["outputs"].items()}, uploads

    def test_a_run(self):
        results, printed, outputs, uploads = self.play({"command": 'claude -p "$PROMPT"', "releases": self.releases}, PROMPT="do it")
        self.assertEqual(results, {"Install seen": 0, "Run the command": 0, "Report what it did": 0}, printed)
        self.assertEqual(outputs["status"], "0")
        self.assert_exported(pathlib.Path(outputs["directory"]))
        self.assertIn("f.txt", (self.top / "summary").read_text())
        self.assertEqual(uploads, [{"name": "seen", "path": outputs["directory"], "retention-days": "14"}])
        self.assertEqual(sorted(os.listdir(self.work)), ["f.txt"])
        annotations = [LINE.fullmatch(line) for line in printed.splitlines() if line.startswith("::")]
        self.assertTrue(annotations)
        properties = dict(part.split("=", 1) for part in annotations[0][2].split(","))
        self.assertTrue((self.work / properties["file"]).exists(), printed)
        self.assertIn("notes", annotations[0][3] + properties["title"])

    def test_a_command_that_fails(self):
        """Its status is the step's, and what it did is reported and uploaded all the same."""
        results, printed, outputs, uploads = self.play({"command": "claude", "releases": self.releases, "session": "other"}, AGENT_STATUS="7")
        self.assertEqual(results, {"Install seen": 0, "Run the command": 7, "Report what it did": 0}, printed)
        self.assertEqual((outputs["status"], len(uploads)), ("7", 1))
        self.assert_exported(pathlib.Path(outputs["directory"]))

    def test_a_file_that_is_another(self):
        """Nothing is installed of it."""
        sums = self.release / "SHA256SUMS"
        text = sums.read_text()
        self.addCleanup(sums.write_text, text)
        sums.write_text(text.replace(text[:8], "00000000"))
        results, printed, outputs, uploads = self.play({"command": "claude", "releases": self.releases})
        self.assertEqual((list(results.values()), uploads, outputs["status"]), ([1, "skipped", "skipped", "skipped"], [], ""))
        self.assertIn("nothing was installed", printed)
        self.assertFalse((self.top / "runner-temp/seen-installed").exists())

    def test_the_page_uses_it_as_it_is(self):
        step, = yaml.safe_load(re.search(r"```yaml\n(- uses: OWNER/seen.*?)```", (SOURCE / "docs/fleet.md").read_text(), re.S)[1])
        self.assertLessEqual(set(step["with"]), set(yaml.safe_load((SOURCE / "action.yml").read_text())["inputs"]))

    def test_annotations_are_escaped(self):
        result = {"ruleId": "a:b,c", "level": "error", "message": {"text": "50 %\nnext"},
                  "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a,b:c.txt"}}}]}
        (self.top / "x.sarif").write_text(json.dumps({"runs": [{"results": [result] * 12}]}))
        done = subprocess.run([sys.executable, str(SOURCE / "packaging/ci/annotations.py"), str(self.top / "x.sarif")], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.splitlines()
        self.assertEqual(done, ["::error file=a%2Cb%3Ac.txt,title=seen%3A a%3Ab%2Cc::50 %25%0Anext"] * 10 + ["seen: 2 findings more are in seen.sarif"])


class GitLab(Runner):
    def test_the_template(self):
        job = yaml.safe_load((SOURCE / "packaging/ci/seen.gitlab-ci.yml").read_text())[".seen"]
        env = {**self.env, **job["variables"], "CI_PROJECT_DIR": str(self.work), "VERSION_OF_SEEN": VERSION, "RELEASES_OF_SEEN": self.releases,
               "AGENT_COMMAND": "claude -p do"}
        for part in (job["before_script"] + job["script"], job["after_script"]):  # a shell each
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", "\n".join(part)], cwd=self.work, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(all((self.work / path).exists() for path in job["artifacts"]["paths"]))
        self.assert_exported(self.work)


class DevelopmentContainer(Runner):
    """What the tools do with a feature: containers.dev, "Dev Container Features reference"."""

    def test_the_feature(self):
        directory = SOURCE / "packaging/devcontainer/src/seen"
        feature = json.loads((directory / "devcontainer-feature.json").read_text())
        self.assertEqual((feature["id"], feature["version"]), ("seen", feature["options"]["version"]["default"]))
        options = {name.upper(): spec["default"] for name, spec in feature["options"].items()}
        shutil.copytree(directory, self.top / "feature")
        prefix = self.top / "usr-local"
        done = subprocess.run(["sh", "./install.sh"], cwd=self.top / "feature", env={**self.env, **options, "PREFIX": str(prefix)}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, prefix.exists()), (1, False), "no releases were named")
        done = subprocess.run(["sh", "./install.sh"], cwd=self.top / "feature", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**self.env, **options, "PREFIX": str(prefix), "VERSION": VERSION, "RELEASES": self.releases})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(sorted(os.listdir(prefix)), ["bin", "lib", "share"])
        done = subprocess.run([str(prefix / "bin/seen"), "run", "--session", "s", "--", "claude"], cwd=self.work, env=self.env, check=True,
                              stdout=subprocess.PIPE, text=True)
        self.assertIn("[File previously read: f.txt", done.stdout)


if __name__ == "__main__":
    unittest.main()
