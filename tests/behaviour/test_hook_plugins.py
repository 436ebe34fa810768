"""opencode's plugin and pi's extension, in Node, with a `seen` that writes down what it is asked."""
import json
import re
import shutil
import subprocess
import unittest

from driver import Case

LOG = r"""
import { readFileSync, existsSync, writeFileSync } from "node:fs";
const log = () => { const text = existsSync(process.env.LOG) ? readFileSync(process.env.LOG, "utf8") : ""; writeFileSync(process.env.LOG, ""); return text.trim().split("\n").filter(Boolean); };
const out = {};
"""
# What opencode and kilo do: events, prompts and calls of conversations.
OPENCODE = 'import { SeenHooks } from "./plugin.mjs";' + LOG + r"""
const hooks = await SeenHooks({ directory: "/" });
const event = (type, properties) => hooks.event({ event: { type, properties } });
const created = (id, parentID) => event("session.created", { info: { id, parentID } });
const prompt = (sessionID) => hooks["chat.message"]({ sessionID }, { message: { id: "m" }, parts: [] });
let calls = 0;
async function call(sessionID, tool = "bash", output = "text", metadata = { exit: 0, truncated: false }) {
	const input = { tool, sessionID, callID: "k" + ++calls, args: {} };
	await hooks["tool.execute.before"]?.(input, { args: {} });
	await hooks["tool.execute.after"]?.(input, { output, metadata });
}
const turn = async (id) => { await prompt(id); await call(id); await event("session.idle", { sessionID: id }); };
await created("A"); await turn("A"); log();
await turn("A"); out.same = log();
await created("B"); await turn("B"); log();
await turn("A"); out.back = log();
await prompt("A"); await created("S", "A"); await turn("S"); await event("session.idle", { sessionID: "S" }); await call("A"); log();
await turn("S"); out.resumed = log();
await event("session.idle", { sessionID: "A" }); log();
await prompt("A"); log();
await turn("B"); out.beside = log();
await event("session.idle", { sessionID: "A" }); log();
await turn("B"); out.alone = log();
const proves = async (...more) => { log(); await call("B", ...more); return log().some((line) => line.includes('"tool_response"')); };
if (hooks["tool.execute.after"])
	out.proves = [await proves(), await proves("bash", "text", { exit: 0, truncated: true }), await proves("bash", "text", { exit: 0 }), await proves("bash", "text", null),
		await proves("bash", "text\n\n<metadata>\nUser aborted the command\n</metadata>", { exit: null, truncated: false }), await proves("read", "text", {}), await proves("edit")];
console.log(JSON.stringify(out));
"""
PI = 'import extension from "./plugin.mjs";' + LOG + r"""
const on = {};
extension({ on: (name, run) => { on[name] = run; } });
const ctx = { cwd: "/", sessionManager: { getSessionId: () => "c1", getSessionFile: () => undefined, getEntries: () => [] } };
const proves = (more) => {
	log();
	on.tool_result({ toolName: "bash", toolCallId: "k", input: {}, content: [{ type: "text", text: "text" }], isError: false, ...more }, ctx);
	return log().some((line) => line.includes('"tool_response"'));
};
out.proves = [proves({}), proves({ details: {} }), proves({ details: { truncation: { truncated: true } } }),
	proves({ content: [{ type: "text", text: "text\n\nCommand aborted" }], isError: true }), proves({ toolName: "edit" })];
console.log(JSON.stringify(out));
"""
SEEN = r"""#!/bin/sh
case $1 in
answer) input=$(cat) ;;
esac
echo "$* $input" >> "$LOG"
"""
# The types of pi's extension, which not every Node takes out.
TYPES = r"<string, string>| as any|\??: (?:any|string|object|WeakSet<object>|\(string \| undefined\)\[\])(?=[,)=\s])"


@unittest.skipUnless(shutil.which("node"), "needs node")
class Plugins(Case):
    def run_host(self, agent, path, host, *options):
        directory = self.top / "plugin"
        (directory / "bin").mkdir(parents=True)
        self.seen("hooks", "install", agent, *options)
        text = (self.home / path).read_text()
        (program,) = set(re.findall(r'"([^" ]+) forget --hook |exec ([^" ]+) answer hook', text)[0]) - {""}
        text = text.replace(program + " ", "seen ")
        (directory / "plugin.mjs").write_text(re.sub(TYPES, "", text) if path.endswith(".ts") else text)
        (directory / "host.mjs").write_text(host)
        (directory / "bin/seen").write_text(SEEN)
        (directory / "bin/seen").chmod(0o755)
        done = subprocess.run([shutil.which("node"), "host.mjs"], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**self.env, "PATH": f"{directory}/bin:{self.env['PATH']}", "LOG": str(directory / "log"), "SEEN_SESSION": "s"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def invalidated(self, lines):
        return [line.split()[2] if line.startswith("forget") else "SessionResumed" for line in lines if line.startswith("forget") or '"SessionResumed"' in line]

    def test_opencode(self):
        """A conversation that goes on after another one forgets what commands gave, and knows what it was given; one beside another's turn, a resumed sub-agent's too, counts nothing."""
        for agent, path in (("opencode", ".config/opencode/plugins/seen.js"), ("kilo", ".config/kilo/plugins/seen.js")):
            with self.subTest(agent):
                out = self.run_host(agent, path, OPENCODE)
                shutil.rmtree(self.top / "plugin")
                self.assertEqual({name: self.invalidated(lines) for name, lines in out.items() if name != "proves"},
                                 {"same": [], "back": ["SessionResumed"], "resumed": ["SubagentStart", "Rewind", "SubagentStop"], "beside": ["SubagentStart", "SessionResumed", "SubagentStop"],
                                  "alone": []})
                agents = {json.loads(line.split(" ", 3)[3]).get("agent_id") for line in out["resumed"] if line.startswith("answer")}
                self.assertEqual(agents, {"S"})
                self.assertEqual(out["proves"], [True, False, False, False, False, True, False])

    def test_opencode_forget_only(self):
        out = self.run_host("opencode", ".config/opencode/plugins/seen.js", OPENCODE, "--forget-only")
        self.assertEqual({name: self.invalidated(lines) for name, lines in out.items()},
                         {"same": [], "back": ["SessionResumed"], "resumed": ["SubagentStart", "SubagentStop"], "beside": ["SubagentStart", "SubagentStop"], "alone": []})

    def test_pi(self):
        """What a command printed is passed on where the model gets it whole."""
        self.assertEqual(self.run_host("pi", ".pi/agent/extensions/seen.ts", PI)["proves"], [True, True, False, False, False])


if __name__ == "__main__":
    unittest.main()
