"""The agents: where they come from, how they are started, how they spell a tool call.

To add one: a subclass of Agent in AGENTS, speaking an API of model_server.py. VARIANTS, named
NAME+VARIANT, are for survey, and for those plays of run that the options name.
"""
import json
import os
import re
import shlex

from model_server import Call


def write_file(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def bare_lines(text):
    """Without what an agent writes around and before lines."""
    return re.sub(r"(?m)^ *\d+(?:: |\t|\u2192| ?\| )", "", text)


def missing_lines(text, given):
    """Lines of a text that are not among those given."""
    has = set(bare_lines(given).splitlines())
    return [line for line in text.splitlines() if line and line not in has]


class Agent:
    name = ""  # of its command in node_modules/.bin
    package = ""  # on npm
    variant = ""  # how it differs from the agent of that name, in words
    auto = "preload"  # what `seen run --via auto` must take for it
    reads_by_shell = False  # it has no read tool
    think_s = 0  # that a model takes for each call at least, for what it was given to be in its transcript by then
    profiles = ()  # other sections of agents.ini that are its profile
    cuts = None  # that many characters of a file are given at once
    sandboxed = False  # its commands run in a sandbox of its own, which may keep .git, and has mounts in the workspace
    rewrites = True  # a tool of its own writes files anew that are there
    replaces_threads = False  # what npm installs has several threads, and becomes the program, which the supervisor must observe
    searches = False  # it has a search tool that starts rg, where that is on PATH
    instructions = ()  # names of instruction files that it gives to the model by itself
    own_words = {}  # by kind of row: how its own answer begins that stands in place of seen's
    proves = False  # its transcript proves, after a resume, what its own read tool gave
    grep = "grep"  # the system's, in a command of its shell
    serves = False  # as a server its process has several conversations at once
    brings_rg = False  # its shell finds an rg of its own first, a static one
    announces = True  # its hook says which command its shell tool is about to run
    whitelisted = ()  # the names by which `--whitelist` knows it, where its in-process reads can be answered

    def configure(self, home, workspace, url):
        """Writes what the agent needs below its fresh home; returns environment variables."""
        raise NotImplementedError

    def narrow(self, home):
        """Changes its settings so that it cuts a conversation that the model calls too long."""

    def arguments(self, prompt):
        """The command's words after its name, for a run without a terminal."""
        raise NotImplementedError

    reports_failures = True  # its hook says that a command failed, or which one ran last
    asks = ""  # what it draws when it waits for a prompt, where it resumes at a terminal alone

    def resume(self, prompt, home):
        """The same, to go on with the last conversation; where it asks, the prompt is typed."""
        raise NotImplementedError

    def call(self, operation, workspace):
        """The Call for a step's operation (scenario.Step)."""
        return getattr(self, operation[0])(workspace, *operation[1:])

    def terminal(self, workspace, command):
        return self.shell(workspace, command)

    @staticmethod
    def bare_result(text):
        """A tool result without the agent's own decoration."""
        return text


class Pi(Agent):
    name = "pi"
    instructions = ("AGENTS.md", "CLAUDE.md")
    proves = True
    package = "@mariozechner/pi-coding-agent"
    profiles = ("pi-coding-agent",)
    whitelisted = ("pi", "pi-coding-agent")

    def configure(self, home, workspace, url):
        model = {"id": "scripted", "name": "Scripted", "reasoning": False, "input": ["text"],
                 "contextWindow": 200000, "maxTokens": 8000,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        write_file(f"{home}/.pi/agent/models.json", json.dumps({"providers": {"scripted": {
            "baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none",
            "models": [model]}}}))
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def arguments(self, prompt):
        return ["-p", "--tools", "read,bash,edit,write,grep", "--provider", "scripted", "--model", "scripted", prompt]

    def resume(self, prompt, home):
        return ["-c", *self.arguments(prompt)]

    def shell(self, _, command):
        return Call("bash", {"command": command})

    def read(self, _, path):
        return Call("read", {"path": path})

    def search(self, _, pattern):
        return Call("grep", {"pattern": pattern})

    def read_lines(self, _, path, first, count):
        return Call("read", {"path": path, "offset": first, "limit": count})

    @staticmethod
    def rival(home):
        return {f"{home}/.pi/agent/extensions/other.ts": """\
export default function (pi) {
	pi.on("tool_result", (event) => ({ content: [...event.content] }));
}
"""}

    def edit(self, _, path, old, new):
        return Call("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})

    def write(self, _, path, text):
        return Call("write", {"path": path, "content": text})


class Codex(Agent):
    name = "codex"
    replaces_threads = True
    instructions = ("AGENTS.md",)
    package = "@openai/codex"
    auto = "both"
    brings_rg = True
    reads_by_shell = True

    def configure(self, home, workspace, url):
        write_file(f"{home}/.codex/config.toml", f"""\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[projects."{workspace}"]
trust_level = "trusted"
""")
        return {"CODEX_HOME": f"{home}/.codex", "SCRIPTED_KEY": "none"}

    def arguments(self, prompt):
        return ["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", prompt]

    def resume(self, prompt, home):
        words = self.arguments(prompt)
        return [words[0], "resume", "--last", *words[1:]]

    def shell(self, _, command):
        return Call("exec_command", {"cmd": command})

    def terminal(self, _, command):
        return Call("exec_command", {"cmd": command, "tty": True})

    def read(self, _, path):
        return Call("exec_command", {"cmd": f"sed -n '1,200p' {path}"})

    def edit(self, _, path, old, new):
        return self._patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n")

    def write(self, _, path, text):
        return self._patch(f"*** Add File: {path}\n"
                           + "".join(f"+{line}\n" for line in text.splitlines()))

    @staticmethod
    def _patch(hunks):
        return Call("apply_patch", f"*** Begin Patch\n{hunks}*** End Patch\n")

    @staticmethod
    def bare_result(text):
        return text.split("\nOutput:\n", 1)[-1].replace("\r\n", "\n")


class Claude(Agent):
    name = "claude"
    grep = "command grep"  # its shell has a function of that name, which runs a program in its own executable
    own_words = {"notice": "Wasted call \u2014 file unchanged since your last Read.", "stale": "<tool_use_error>File has been modified since read",
                 "unread": "<tool_use_error>File has not been read yet."}
    instructions = ("CLAUDE.md",)
    proves = True
    package = "@anthropic-ai/claude-code"
    profiles = ("claude-code",)
    auto = "both"
    think_s = 0.5  # it writes 100 ms later than it acts

    def configure(self, home, workspace, url):
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}

    def arguments(self, prompt):
        return ["-p", prompt, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"]

    def resume(self, prompt, home):
        return ["-c", *self.arguments(prompt)]

    def shell(self, _, command):
        return Call("Bash", {"command": command, "description": "scripted"})

    def read(self, workspace, path):
        return Call("Read", {"file_path": f"{workspace}/{path}"})

    def read_lines(self, workspace, path, first, count):
        return Call("Read", {"file_path": f"{workspace}/{path}", "offset": first, "limit": count})

    def edit(self, workspace, path, old, new):
        return Call("Edit", {"file_path": f"{workspace}/{path}", "old_string": old,
                             "new_string": new})

    def write(self, workspace, path, text):
        return Call("Write", {"file_path": f"{workspace}/{path}", "content": text})

    @staticmethod
    def bare_result(text):
        """Without its remarks to the model below the output, nor the number of its Read before a notice."""
        text = re.sub(r"\s*<system-reminder>.*?</system-reminder>\s*$", "", text, flags=re.S)
        text = re.sub(r"\n\[This command modified [^\n]*\]$", "", text)
        return re.sub(r"\A1\t(?=\[)", "", text)


class Gemini(Agent):
    name = "gemini"
    announces = False  # its shell has GIT_EXTERNAL_DIFF set, to nothing: git diff fails, and no git command is answered
    instructions = ("GEMINI.md",)
    package = "@google/gemini-cli"
    profiles = ("gemini-cli",)
    whitelisted = ("gemini", "gemini-cli")

    def configure(self, home, workspace, url):
        write_file(f"{home}/.gemini/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"},
                         "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "model": {"disableLoopDetection": True}}))  # it asks another model whether it loops
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, prompt):
        return ["-p", prompt, "--yolo", "-m", "gemini-2.5-pro"]

    def resume(self, prompt, home):
        return ["--resume", "latest", *self.arguments(prompt)]

    def shell(self, _, command):
        if "$(" in command or "<(" in command:  # it refuses these where it sees them
            command = f"eval {shlex.quote(command)}"
        return Call("run_shell_command", {"command": command, "description": "scripted"})

    def search(self, _, pattern):
        return Call("grep_search", {"pattern": pattern})

    def read(self, workspace, path):
        return Call("read_file", {"file_path": f"{workspace}/{path}"})

    def read_lines(self, workspace, path, first, count):
        return Call("read_file", {"file_path": f"{workspace}/{path}", "start_line": first, "end_line": first + count - 1})

    @staticmethod
    def rival(home):
        path = f"{home}/.gemini/settings.json"
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        settings["hooks"]["AfterTool"].append({"matcher": "read.*", "hooks": [{"type": "command", "command": "true"}]})
        return {path: json.dumps(settings)}

    def edit(self, workspace, path, old, new):
        return Call("replace", {"file_path": f"{workspace}/{path}", "instruction": "scripted",
                                "old_string": old, "new_string": new})

    def write(self, workspace, path, text):
        return Call("write_file", {"file_path": f"{workspace}/{path}", "content": text})

    @staticmethod
    def bare_result(text):
        return re.sub(r"\A<untrusted_context>\nOutput: (.*?)\n(?:Background PIDs: [^\n]*\n)?"
                      r"Process Group PGID: \d+\n</untrusted_context>\Z", r"\1", text, flags=re.S)


class OpenCode(Agent):
    name = "opencode"
    instructions = ("AGENTS.md", "CLAUDE.md")
    package = "opencode-ai"
    auto = "both"
    serves = True
    searches = True
    # Where it has a plugin it installs a package before it starts, and tries for 70 s without a network.
    no_npm = {"npm_config_fetch_retries": "0"}
    model = "scripted"

    def settings(self, url):
        return {"autoupdate": False, "share": "disabled", "model": f"scripted/{self.model}", "small_model": f"scripted/{self.model}",
                "provider": {"scripted": {
                    "npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                    "models": {self.model: {"name": "Scripted", "tool_call": True,
                                            "limit": {"context": 200000, "output": 8000}}}}}}

    def configure(self, home, workspace, url):
        write_file(f"{home}/.config/opencode/opencode.json", json.dumps({**self.settings(url), "permission": "allow"}))
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", **self.no_npm,
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}

    def arguments(self, prompt):
        return ["run", "--model", f"scripted/{self.model}", prompt]

    def resume(self, prompt, home):
        words = self.arguments(prompt)
        return [*words[:-1], "-c", prompt]

    def shell(self, _, command):
        return Call("bash", {"command": command, "description": "scripted"})

    def read(self, workspace, path):
        return Call("read", {"filePath": f"{workspace}/{path}"})

    def read_lines(self, workspace, path, first, count):
        return Call("read", {"filePath": f"{workspace}/{path}", "offset": first, "limit": count})

    def rival(self, home):
        return {f"{home}/.config/{self.name}/plugins/other.js": """\
export const Other = async () => ({ "tool.execute.after": async (input, output) => { output.title += ""; } });
"""}

    def edit(self, workspace, path, old, new):
        return Call("edit", {"filePath": f"{workspace}/{path}", "oldString": old, "newString": new})

    def write(self, workspace, path, text):
        return Call("write", {"filePath": f"{workspace}/{path}", "content": text})

    def search(self, _, pattern):
        return Call("grep", {"pattern": pattern})


class Kilo(OpenCode):
    name = "kilo"
    package = "@kilocode/cli"

    def configure(self, home, workspace, url):
        write_file(f"{home}/.config/kilo/kilo.json", json.dumps({**self.settings(url), "permission": {"*": "allow"}}))
        return {**self.no_npm, "KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "KILO_TELEMETRY_LEVEL": "off", "KILO_DISABLE_LSP_DOWNLOAD": "1"}

    def arguments(self, prompt):
        return ["run", "--auto", *super().arguments(prompt)[1:]]


class Cline(Agent):
    name = "cline"
    announces = False
    instructions = ("AGENTS.md",)
    package = "cline"
    auto = "both"
    cuts = 8000
    rewrites = False  # its tool writes no file anew that is there

    def configure(self, home, workspace, url):
        write_file(f"{home}/.cline/data/settings/providers.json", json.dumps({
            "version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {
                "settings": {"provider": "openai-compatible", "apiKey": "none", "model": "scripted", "baseUrl": f"{url}/v1"},
                "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}))
        return {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1",
                "CLINE_PLUGIN_IMPORT_TIMEOUT_MS": "60000",  # four seconds, else plugins are left out
                "CLINE_SESSION_BACKEND_MODE": "local"}  # no daemon that outlives the play

    def narrow(self, home):
        """It cuts by its own estimate, too: what the model says counts for four times that at most."""
        path = f"{home}/.cline/data/settings/providers.json"
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        settings["providers"]["openai-compatible"]["settings"]["contextWindow"] = 20000
        write_file(path, json.dumps(settings))

    def arguments(self, prompt):
        return ["--auto-approve", "true", "-P", "openai-compatible", "-m", "scripted", "-k", "none", prompt]

    reports_failures = False
    asks = "Ask anything"

    def resume(self, prompt, home):
        (session,) = os.listdir(f"{home}/.cline/data/sessions")
        return ["--id", session, *self.arguments(prompt)[:-1]]

    def shell(self, _, command):
        return Call("run_commands", {"commands": [command]})

    def read(self, workspace, path):
        return Call("read_files", {"files": [{"path": f"{workspace}/{path}"}]})

    def read_lines(self, workspace, path, first, count):
        return Call("read_files", {"files": [{"path": f"{workspace}/{path}", "start_line": first, "end_line": first + count - 1}]})

    @staticmethod
    def rival(home):
        return {f"{home}/.cline/plugins/other.js": """\
export default { name: "other", manifest: { capabilities: ["hooks"] }, hooks: { afterTool: () => undefined } };
"""}

    def edit(self, workspace, path, old, new):
        return Call("editor", {"path": f"{workspace}/{path}", "old_text": old, "new_text": new})

    def write(self, workspace, path, text):
        return Call("editor", {"path": f"{workspace}/{path}", "new_text": text})

    @staticmethod
    def bare_result(text):
        """The texts of a list of results, or an error."""
        try:
            results = json.loads(text)
        except ValueError:
            return text
        if isinstance(results, dict):
            return results.get("error") or results.get("result", text)
        return "\n".join(result.get("error") or result.get("result", "") for result in results)


AGENTS = {agent.name: agent for agent in (Pi(), Codex(), Claude(), Gemini())}

# Of these what a command's output becomes is known (measure), and what is seen of them (survey).
MORE = {agent.name: agent for agent in (OpenCode(), Kilo(), Cline())}


# Agents with settings of their own that keep something from the commands they run.

class CodexSandboxed(Codex):
    variant = "`--sandbox workspace-write`"
    sandboxed = True

    def arguments(self, prompt):
        return ["exec", "--json", "--sandbox", "workspace-write", prompt]


class CodexReadOnly(Codex):
    variant = "`--sandbox read-only`"

    def arguments(self, prompt):
        return ["exec", "--json", "--sandbox", "read-only", prompt]


class CodexCoreEnvironment(Codex):
    variant = "`shell_environment_policy.inherit = core`"

    def configure(self, home, workspace, url):
        environment = super().configure(home, workspace, url)
        with open(f"{home}/.codex/config.toml", "a", encoding="utf-8") as file:
            file.write('[shell_environment_policy]\ninherit = "core"\n')
        return environment


class CodexBoth(CodexSandboxed, CodexCoreEnvironment):
    variant = "both of these"


class GeminiInCI(Gemini):
    variant = "`GITHUB_SHA` is set"

    def configure(self, home, workspace, url):
        return {**super().configure(home, workspace, url), "GITHUB_SHA": "0" * 40}


class ClaudeSandboxed(Claude):
    variant = "`sandbox.enabled = true`"  # bubblewrap and socat
    sandboxed = True

    def configure(self, home, workspace, url):
        write_file(f"{home}/.claude/settings.json", json.dumps({"sandbox": {
            "enabled": True, "failIfUnavailable": True, "allowUnsandboxedCommands": False}}))
        return super().configure(home, workspace, url)


class ClaudeScrubbing(Claude):
    variant = "`CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1`"  # it sandboxes commands too, and asks
    sandboxed = True

    def configure(self, home, workspace, url):
        write_file(f"{home}/.claude/settings.json", json.dumps({"permissions": {
            "allow": ["Bash", "Edit", "Write", "Read"]}}))
        return {**super().configure(home, workspace, url), "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"}


VARIANTS = {"codex+sandbox": CodexSandboxed(), "codex+readonly": CodexReadOnly(), "codex+core": CodexCoreEnvironment(),
            "codex+sandbox+core": CodexBoth(), "gemini+ci": GeminiInCI(),
            "claude+sandbox": ClaudeSandboxed(), "claude+scrub": ClaudeScrubbing()}


class OpenCodePatching(OpenCode):
    """With models of that name it offers a tool for patches in place of those for edits."""
    variant = "a model named gpt-5"
    model = "gpt-5"
    rewrites = False

    def edit(self, workspace, path, old, new):
        return Call("apply_patch", {"patchText": f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"})


class KiloPatching(OpenCodePatching, Kilo):
    pass


# With models that have other tools, for `run --answered`.
OTHER_MODELS = {"opencode+patch": OpenCodePatching(), "kilo+patch": KiloPatching()}
