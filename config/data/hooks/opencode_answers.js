// By `seen hooks install`, for opencode or kilo; `seen hooks remove` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was; and asks it before and after each
// tool call: a file that the model was given already, and one that is not as it was given, is answered.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

function forget(event) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 10000 });
}

// This file may be loaded twice, from the user's and the project's directory: a call is asked for once.
const asked = (globalThis[Symbol.for("seen.asked")] ??= new WeakSet());
const added = new Map(); // by call: what its result is to say besides
const news = new Map(); // by conversation: for its model, with the next prompt, or behind the next result
const begun = new Set(); // conversations
const prompts = new Map(); // by conversation: the message that began the turn
const children = new Set(); // conversations of sub-agents
const working = new Set(); // conversations whose turn has not ended
const subAgents = new Set(); // and those that began beside another's: sub-agents, and what is at work in the same server
let asking; // the conversation that was asked for last
let current; // and the last one that is no sub-agent's
let others = true; // plugins that may change what a tool gives: in doubt there are

// Another plugin changes no output for certain where its one file names nothing that could.
function mayChange(plugin) {
	const spec = typeof (plugin?.spec ?? plugin) === "string" ? plugin.spec ?? plugin : (plugin?.spec ?? plugin)[0];
	try {
		const text = readFileSync(spec.startsWith("file:") ? fileURLToPath(spec) : "", "utf8");
		return !text.includes("seen.asked") && /tool\.execute\.after|experimental|import\(|require\(|from\s*["']\.|["'`]tool\./.test(text);
	} catch {
		return true;
	}
}

function send(event, directory, session, more) {
	try {
		const input = JSON.stringify({ hook_event_name: event, session_id: session, agent_id: children.has(session) ? session : undefined,
			prompt_id: prompts.get(session), cwd: directory, others, ...more });
		const done = spawnSync("sh", ["-c", "exec seen answer hook opencode"], {
			input, stdio: ["pipe", "pipe", "ignore"], timeout: 10000, maxBuffer: 1 << 26,
		});
		return done.stdout?.length ? JSON.parse(done.stdout.toString()) : {};
	} catch {
		return {};
	}
}

// What commands gave is another conversation's; what it knows of files, too, where it is no sub-agent's.
function turnTo(session, directory) {
	const isOther = asking !== undefined && asking !== session, isMain = !children.has(session);
	if (isMain && current !== undefined && current !== session && process.env.SEEN_SESSION) send("SessionResumed", directory, session);
	else if (isOther) forget("Rewind");
	asking = session;
	if (isMain) current = session;
}

function ask(event, of, directory, session, more) {
	turnTo(session, directory);
	if (!process.env.SEEN_SESSION || asked.has(of)) return {};
	asked.add(of);
	return send(event, directory, session, more);
}

// What began, or goes on: a conversation, or another part of it.
function begin(event, of, directory, session, source) {
	begun.add(session);
	if (!process.env.SEEN_SESSION) return forget(event);
	const { add } = ask(event, of, directory, session, { source });
	if (add) news.set(session, add);
}

// Until it ends, nothing tells whose commands are whose.
function beginBeside(session) {
	if (subAgents.has(session)) return;
	subAgents.add(session);
	forget("SubagentStart");
}

function takeNews(session, ...more) {
	const text = [news.get(session), ...more].filter(Boolean).join("\n\n");
	news.delete(session);
	return text;
}

export const SeenHooks = async ({ directory }) => ({
	config: async (config) => {
		others = ![config.plugin_origins ?? config.plugin].every((list) => Array.isArray(list) && !list.some(mayChange));
	},
	event: async ({ event }) => {
		const session = event.properties?.info ?? {};
		const id = event.properties?.sessionID;
		if (event.type === "session.created" && session.parentID) {
			children.add(session.id);
			begun.add(session.id);
			beginBeside(session.id);
		} else if (event.type === "session.created") {
			begin("SessionStart", event, directory, session.id, "startup");
		} else if (event.type === "session.updated" && session.revert) {
			begin("Rewind", event, directory, session.id);
		} else if (event.type === "session.idle" || event.type === "session.error") {
			working.delete(id);
			if (subAgents.delete(id)) forget("SubagentStop");
		} else if (event.type === "session.compacted") {
			begin("SessionStart", event, directory, id, "compact");
		} else if (event.type === "message.part.updated" && event.properties.part?.state?.time?.compacted) {
			forget("Pruned"); // an old result was taken out of the conversation
		}
	},
	"chat.message": async (input, output) => {
		const { sessionID } = input, messageID = output.message?.id, parts = output.parts ?? [];
		prompts.set(sessionID, messageID);
		// A sub-agent that goes on is not created again.
		if (children.has(sessionID) || [...working].some((other) => other !== sessionID)) beginBeside(sessionID);
		working.add(sessionID);
		if (!begun.has(sessionID)) begin("SessionStart", input, directory, sessionID, "resume"); // one of another run
		const words = parts.map((part) => (part.type === "text" && !part.synthetic ? part.text : "")).join("");
		const text = takeNews(sessionID, ask("UserPromptSubmit", output, directory, sessionID, { prompt: words }).add);
		// Ids rise with time: behind the prompt's own parts.
		const last = parts[parts.length - 1]?.id;
		if (text && last) parts.push({ id: last + "s", sessionID, messageID, type: "text", synthetic: true, text });
	},
	"tool.execute.before": async (input, output) => {
		const answer = ask("PreToolUse", output, directory, input.sessionID, {
			tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args,
		});
		if (answer.add) added.set(input.callID, answer.add);
		if (answer.refuse) throw new Error(answer.refuse);
	},
	"tool.execute.after": async (input, output) => {
		const text = typeof output?.output === "string" ? output.output : undefined;
		const failed = input.tool === "bash" && output?.metadata?.exit;
		// What a command printed. One that was interrupted has no status, and the model may be given another text.
		const isWhole = input.tool !== "bash" || (output?.metadata?.truncated === false && Number.isInteger(output.metadata.exit));
		const answer = ask(failed ? "PostToolUseFailure" : "PostToolUse", output, directory, input.sessionID, {
			tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args,
			tool_response: isWhole && ["read", "grep", "glob", "list", "bash"].includes(input.tool) ? text : undefined,
		});
		const more = added.get(input.callID);
		added.delete(input.callID);
		if (text !== undefined && typeof answer.output === "string") output.output = answer.output;
		else if (text !== undefined) output.output = [text, takeNews(input.sessionID, more)].filter(Boolean).join("\n\n");
	},
});
