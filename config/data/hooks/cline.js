// By `seen hooks install cline --forget-only`; `seen hooks remove cline` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function forget(event) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 2000 });
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

export default {
	name: "seen",
	manifest: { capabilities: ["hooks"] },
	hooks: {
		beforeModel: ({ snapshot, request }) => {
			const change = snapshot?.parentAgentId ? undefined : changeOf(snapshot?.conversationId, request?.messages);
			if (change)
				forget(change);
		},
		beforeTool: ({ toolCall }) => {
			if (startsAgents(toolCall?.toolName))
				forget("SubagentStart");
		},
		afterTool: ({ toolCall }) => {
			if (toolCall?.toolName === "spawn_agent")
				forget("SubagentStop");
		},
	},
};
