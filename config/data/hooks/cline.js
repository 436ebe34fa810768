// By `seen hooks install cline`; `seen hooks remove cline` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was.  Where `answers` is true, `seen` also
// answers the agent's own reads, and refuses edits of files that changed since.  Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

const answers = true; // false with --forget-only

function run(command, input) {
	return spawnSync("sh", ["-c", command], { input, stdio: ["pipe", "pipe", "ignore"], timeout: 2000, maxBuffer: 1 << 26 }).stdout;
}

function forget(event) {
	run("seen forget --hook " + event + " >/dev/null 2>&1 || :", "");
}

// cline names a conversation anew in each process.  A session keeps its name, by which it is resumed.
const sessions = new Map(); // by the first conversation that each had here
const waiting = new Set(); // those whose conversation did not begin yet

function setup(_, context) {
	const session = context?.session?.sessionId;
	if (session && ![...sessions.values()].includes(session)) // a sub-agent has the session of its agent
		waiting.add(session);
}

function nameOf(snapshot) {
	const conversation = snapshot?.conversationId;
	if (waiting.size && !snapshot?.parentAgentId && !sessions.has(conversation)) {
		if (waiting.size === 1) // else it may be any of them
			sessions.set(conversation, ...waiting);
		waiting.clear();
	}
	return sessions.get(conversation) ?? conversation;
}

function ask(event, { snapshot, toolCall }, more) {
	const answer = run("exec seen answer hook cline", JSON.stringify({
		hook_event_name: event, tool_name: toolCall?.toolName, tool_use_id: toolCall?.toolCallId, cwd: process.cwd(),
		session_id: nameOf(snapshot), agent_id: snapshot?.parentAgentId ? snapshot.agentId : undefined, prompt_id: snapshot?.runId, ...more }));
	try {
		return JSON.parse(answer) ?? {}; // null: there is no shell
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
				found.set(part.toolCallId, Buffer.byteLength(JSON.stringify(part.output ?? null)));
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
		const answer = ask("PostToolUse", context, { tool_input: files[index], tool_response: entry.result });
		changed ||= answer.output !== undefined;
		return answer.output === undefined ? entry : { ...entry, result: answer.output };
	});
	return changed ? { result: { ...context.result, output: answered } } : undefined;
}

function answerCall(context) {
	const { refuse } = ask("PreToolUse", context, { tool_input: context.input });
	return refuse === undefined ? undefined : { skip: true, reason: refuse };
}

const news = new Map(); // by conversation: for its model, with the next prompt, or behind the next result
const begun = new Set(); // conversations

// What began, or goes on: a conversation, or another part of it.
function begin(source, context) {
	const conversation = context.snapshot?.conversationId;
	begun.add(conversation);
	const results = source === "resume" ? Object.fromEntries(resultsOf(context.snapshot?.messages)) : undefined;
	const { add } = ask("SessionStart", context, { source, results });
	if (add)
		news.set(conversation, add);
}

function takeNews({ snapshot }, ...more) {
	const text = [news.get(snapshot?.conversationId), ...more].filter(Boolean).join("\n\n");
	news.delete(snapshot?.conversationId);
	return text || undefined;
}

function answerResult(context) {
	const answer = context.toolCall?.toolName === "read_files" ? answerReads(context) : undefined;
	const appendContext = takeNews(context);
	return appendContext ? { ...answer, appendContext } : answer;
}

const wordsOf = (message) => (message?.content ?? []).map((part) => (part?.type === "text" ? part.text : "")).join("");

function answerPrompt(context) {
	const messages = context.snapshot?.messages ?? [];
	if (context.snapshot?.parentAgentId)
		return;
	if (!begun.has(context.snapshot?.conversationId))
		begin(messages.some(({ role }) => role === "assistant") ? "resume" : "startup", context);
	const words = wordsOf(messages.findLast(({ role }) => role === "user"));
	const appendContext = takeNews(context, ask("UserPromptSubmit", context, { prompt: words }).add);
	return appendContext && { appendContext };
}

const hooks = {
	beforeModel: ({ snapshot, request }) => {
		const change = snapshot?.parentAgentId ? undefined : changeOf(snapshot?.conversationId, request?.messages);
		if (answers && change === "PostCompact")
			begin("compact", { snapshot });
		else if (change)
			forget(change);
	},
	beforeTool: (context) => {
		if (startsAgents(context.toolCall?.toolName))
			forget("SubagentStart");
		return answers ? answerCall(context) : undefined;
	},
	afterTool: (context) => {
		if (context.toolCall?.toolName === "spawn_agent")
			forget("SubagentStop");
		return answers ? answerResult(context) : undefined;
	},
};

export default { name: "seen", manifest: { capabilities: ["hooks"] }, setup, hooks: answers ? { beforeRun: answerPrompt, ...hooks } : hooks };
