// By `seen hooks install cline`; `seen hooks remove cline` removes this file.
// Has `seen` answer the agent's own reads, refuse edits of files that changed since, and give files in full again when the
// conversation is another one, or shorter than it was.  Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function run(command, input) {
	return spawnSync("sh", ["-c", command], { input, stdio: ["pipe", "pipe", "ignore"], timeout: 2000, maxBuffer: 1 << 26 }).stdout;
}

function forget(event) {
	run("seen forget --hook " + event + " >/dev/null 2>&1 || :", "");
}

function ask(event, { snapshot, toolCall }, tool_input, tool_output) {
	const answer = run("seen answer hook cline 2>/dev/null || :", JSON.stringify({
		event, tool_input, tool_output, tool: toolCall?.toolName, call: toolCall?.toolCallId, cwd: process.cwd(),
		conversation: snapshot?.conversationId, sub_agent: snapshot?.parentAgentId ? snapshot.agentId : undefined }));
	try {
		return JSON.parse(answer);
	} catch {
		return {};
	}
}

// The results that each conversation's last request had, by id: their lengths.  One that is missing, or shorter, was taken out.
const results = new Map();

function resultsOf(messages) {
	const found = new Map();
	for (const message of messages ?? [])
		for (const part of Array.isArray(message?.content) ? message.content : [])
			if (part?.type === "tool-result")
				found.set(part.toolCallId, JSON.stringify(part.output ?? null).length);
	return found;
}

// What a request tells of its conversation: that it is another one than the last request's, or shorter.
function changeOf(conversation, messages) {
	const last = results.get(conversation);
	const now = resultsOf(messages);
	results.clear();
	results.set(conversation, now);
	if (last === undefined)
		return "SessionStart";
	return [...last].some(([id, length]) => now.get(id) !== length) ? "PostCompact" : undefined;
}

const startsAgents = (name) => /^(spawn_agent|team_)/.test(name ?? "");

// One file is asked about at a time: what read_files gave of it stands at its place in the list.
function answerReads(context) {
	const files = context.input?.files, output = context.result?.output;
	if (!Array.isArray(files) || !Array.isArray(output) || files.length !== output.length || context.result.isError)
		return;
	let changed = false;
	const answered = output.map((entry, index) => {
		if (entry?.success !== true || typeof entry.result !== "string")
			return entry;
		const { text } = ask("afterTool", context, files[index], entry.result);
		changed ||= text !== undefined;
		return text === undefined ? entry : { ...entry, result: text };
	});
	return changed ? { result: { ...context.result, output: answered } } : undefined;
}

export default {
	name: "seen",
	manifest: { capabilities: ["hooks"] },
	hooks: {
		beforeModel: ({ snapshot, request }) => {
			const change = snapshot?.parentAgentId ? undefined : changeOf(snapshot?.conversationId, request?.messages);
			if (change)
				forget(change);
		},
		beforeTool: (context) => {
			if (startsAgents(context.toolCall?.toolName))
				forget("SubagentStart");
			const { reason } = ask("beforeTool", context, context.input);
			return reason === undefined ? undefined : { skip: true, reason };
		},
		afterTool: (context) => {
			if (context.toolCall?.toolName === "spawn_agent")
				forget("SubagentStop");
			if (context.toolCall?.toolName === "read_files")
				return answerReads(context);
		},
	},
};
