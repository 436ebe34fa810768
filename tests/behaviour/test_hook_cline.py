"""cline's plugin, in Node, with a `seen` that writes down what it is asked: which changes of a conversation it reports, and what it does with answers."""
import json
import shutil
import subprocess
import unittest

from driver import Case

# What cline does: it imports the plugin, and calls its hooks.
HOST = r'''
import plugin from "./plugin.mjs";
import { readFileSync, existsSync, writeFileSync } from "node:fs";
const { beforeRun, beforeModel, beforeTool, afterTool } = plugin.hooks;
const log = () => { const text = existsSync(process.env.LOG) ? readFileSync(process.env.LOG, "utf8") : ""; writeFileSync(process.env.LOG, ""); return text.trim().split("\n").filter(Boolean); };
const result = (id, output) => ({ role: "tool", content: [{ type: "tool-result", toolCallId: id, output }] });
const user = { role: "user", content: [{ type: "text", text: "do it" }] };
const out = {};
const request = (name, conversation, messages, parentAgentId) => {
	beforeModel({ snapshot: { conversationId: conversation, agentId: "a", parentAgentId }, request: { messages } });
	out[name] = log();
};
request("first", "c1", [user]);
request("longer", "c1", [user, result("k1", ["a"])]);
request("and longer", "c1", [user, result("k1", ["a"]), result("k2", ["b"])]);
request("a sub-agent's", "c9", [user], "a");
request("one is missing", "c1", [user, result("k2", ["b"])]);
request("one is shorter", "c1", [user, result("k2", [""])]);
request("the same", "c1", [user, result("k2", [""]), "unusual", null, { content: "text" }]);
request("another", "c2", [user]);
request("back", "c1", [user, result("k2", [""])]);
const context = (toolName, input, more) => ({ snapshot: { conversationId: "c1" }, toolCall: { toolName, toolCallId: "k" }, input, ...more });
out.spawn = [beforeTool(context("spawn_agent", {})) ?? null, ...log()];
out.spawned = [afterTool(context("spawn_agent", {}, { result: { output: "x" } })) ?? null, ...log()];
out.refused = beforeTool(context("editor", { path: "stale" }));
out.passed = beforeTool(context("editor", { path: "other" })) ?? null;
log();
const reads = (files, output, isError) => afterTool(context("read_files", { files }, { result: { output, isError } })) ?? null;
out.read = reads([{ path: "known" }, { path: "other" }], [{ query: "known", result: "1 | a", success: true }, { query: "other", result: "1 | b", success: true }]);
out.asked = log();
out.unread = [reads([{ path: "other" }], [{ query: "other", result: "1 | b", success: true }]), reads([{ path: "known" }], [{ query: "known", error: "x", success: false }]),
	reads([{ path: "known" }], []), reads([{ path: "known" }], "text"), reads(undefined, [{ result: "x", success: true }]), reads([{ path: "known" }], [{ result: "x", success: true }], true)];
const run = (conversation, messages, parentAgentId) => beforeRun?.({ snapshot: { conversationId: conversation, agentId: "a", parentAgentId, messages } }) ?? null;
const says = (text) => ({ role: "user", content: [{ type: "text", text }] });
const answered = { role: "assistant", content: [{ type: "text", text: "done" }] };
out.prompts = [run("d1", [says("do it")]), run("d1", [says("do it"), answered, says("do more")]), run("d1", [says("do it"), answered, says("tell me")]),
	run("d2", [says("do it"), answered, says("tell me")]), run("d3", [says("tell me")], "parent")];
log();
request("told", "d1", [user, result("k1", ["a"])]);
request("cut", "d1", [user]);
out.behind = [beforeTool({ snapshot: { conversationId: "d1" }, toolCall: { toolName: "editor", toolCallId: "k" }, input: {} }) ?? null,
	...[1, 2].map(() => afterTool({ snapshot: { conversationId: "d1" }, toolCall: { toolName: "editor", toolCallId: "k" }, input: {}, result: { output: "x" } }) ?? null)];
const begins = (session) => plugin.setup({}, session && { session: { sessionId: session } });
const before = [says("do it"), answered, result("k9", ["text"]), says("do more")];
const names = (conversation, ...more) => { run(conversation, before, ...more); return log(); };
log(); begins("s1");
out.session = [names("e9", "parent"), names("e1")];
begins("s1"); // as a sub-agent of it does
out.others = [names("e2"), (begins("s2"), begins("s3"), begins(undefined), names("e3")), names("e4"), names("e1"), (begins("s4"), names("e5"))];
console.log(JSON.stringify(out));
'''
# Answers for the paths "known" and "stale".
SEEN = r'''#!/bin/sh
input=$(cat)
echo "$* $(printf %s "$input" | tr -d '\n' | cut -c1-300)" >> "$LOG"
case $input in
*'"PostToolUse"'*'"path":"known"'*) printf '{"output":"a notice"}' ;;
*'"PreToolUse"'*'"path":"stale"'*) printf '{"refuse":"it was modified"}' ;;
*'"SessionStart"'*'"source":"startup"'*) printf '{"add":"of the start"}' ;;
*'"SessionStart"'*'"source":"'*) printf '{"add":"of what was before"}' ;;
*'"UserPromptSubmit"'*'"prompt":"tell'*) printf '{"add":"what changed"}' ;;
*) [ -z "$BROKEN" ] || { echo nonsense; exit 3; } ;;
esac
'''


@unittest.skipUnless(shutil.which("node"), "needs node")
class Plugin(Case):
    def run_host(self, *options, **more):
        directory = self.top / "plugin"
        directory.mkdir(exist_ok=True)
        (directory / "bin").mkdir(exist_ok=True)
        self.seen("hooks", "install", "cline", *options, env={"CLINE_DIR": str(directory)})
        text = (directory / "plugins/seen.js").read_text()
        program = text.split(" forget --hook ")[0].rsplit('"', 1)[1]
        self.assertIn("/", program)
        (directory / "plugin.mjs").write_text(text.replace(program, "seen"))
        (directory / "host.mjs").write_text(HOST)
        (directory / "bin/seen").write_text(SEEN)
        (directory / "bin/seen").chmod(0o755)
        done = subprocess.run([shutil.which("node"), "host.mjs"], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**self.env, "PATH": f"{directory}/bin:{self.env['PATH']}", "LOG": str(directory / "log"), **more})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def conversations(self, out):
        def kind(line):
            return line.split()[2] if line.startswith("forget") else "PostCompact" if '"source":"compact"' in line else ""
        reported = {name: [kind(line) for line in lines if kind(line)] for name, lines in out.items()
                if name in ("first", "longer", "and longer", "a sub-agent's", "one is missing", "one is shorter", "the same", "another", "back")}
        self.assertEqual(reported, {"first": ["SessionStart"], "longer": [], "and longer": [], "a sub-agent's": [], "one is missing": ["PostCompact"],
                                "one is shorter": ["PostCompact"], "the same": [], "another": ["SessionStart"], "back": ["SessionStart"]})
        self.assertEqual([line.split()[2] for line in out["spawn"][1:] if line.startswith("forget")], ["SubagentStart"])
        self.assertEqual([line.split()[2] for line in out["spawned"][1:] if line.startswith("forget")], ["SubagentStop"])
        self.assertEqual(out["spawn"][0], None)

    def test_answers(self):
        out = self.run_host()
        self.conversations(out)
        self.assertEqual((out["refused"], out["passed"]), ({"skip": True, "reason": "it was modified"}, None))
        self.assertEqual(out["read"], {"result": {"output": [{"query": "known", "result": "a notice", "success": True},
                                                             {"query": "other", "result": "1 | b", "success": True}]}})
        asked = [json.loads(line.split(" ", 3)[3]) for line in out["asked"]]
        self.assertEqual([(one["tool_name"], one["tool_input"], one["tool_response"], one["session_id"]) for one in asked],
                         [("read_files", {"path": "known"}, "1 | a", "c1"), ("read_files", {"path": "other"}, "1 | b", "c1")])
        self.assertEqual(out["unread"], [None] * 6)
        # What begins, goes on, or is asked for, in one text; after a cut behind the next result; a sub-agent is given nothing.
        self.assertEqual(out["prompts"], [{"appendContext": "of the start"}, None, {"appendContext": "what changed"},
                                          {"appendContext": "of what was before\n\nwhat changed"}, None])
        self.assertEqual(out["behind"], [None, {"appendContext": "of what was before"}, None])

    def test_session(self):
        """A conversation is named by its session, which is resumed in another process; where it may be of another one, by itself."""
        out = self.run_host()
        asked = [[json.loads(line.split(" ", 3)[3]) for line in lines] for lines in (*out["session"], *out["others"])]
        self.assertEqual([[(one["hook_event_name"], one["session_id"]) for one in asks] for asks in asked],
                         [[]] + [[("SessionStart", name), ("UserPromptSubmit", name)] for name in ("s1", "e2", "e3", "e4")] + [[("UserPromptSubmit", "s1")]]
                         + [[("SessionStart", "s4"), ("UserPromptSubmit", "s4")]])
        self.assertEqual((asked[1][0]["source"], list(asked[1][0]["results"]), asked[1][1].get("results")), ("resume", ["k9"], None))

    def test_forget_only(self):
        out = self.run_host("--forget-only")
        self.conversations(out)
        self.assertEqual((out["refused"] if "refused" in out else None, out["passed"], out["read"], out["asked"]), (None, None, None, []))
        self.assertEqual((out["prompts"], out["behind"]), ([None] * 5, [None] * 3))

    def test_without_an_answer(self):
        """One that prints something else, or is not there: cline goes on as without it."""
        self.assertEqual(self.run_host(BROKEN="1")["passed"], None)

    def test_without_a_shell(self):
        """cline goes on as without it."""
        out = self.run_host(PATH="/nonexistent")
        self.assertEqual((out.get("refused"), out["passed"], out["read"], out["asked"]), (None, None, None, []))
        self.assertEqual((out["prompts"], out["behind"]), ([None] * 5, [None] * 3))


if __name__ == "__main__":
    unittest.main()
