// By `seen hooks install pi`; `seen hooks remove pi` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was; and asks it before and after each
// tool call: a file that the model was given already, and one that is not as it was given, is answered.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function forget(event: string) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 10000 });
}

// This file may be loaded twice, from the user's and the project's directory: a call is asked for once.
const asked: WeakSet<object> = ((globalThis as any)[Symbol.for("seen.asked")] ??= new WeakSet());
const added = new Map<string, string>(); // by call: what its result is to say besides
let prompts = 0;
let news = ""; // for the model: with the next prompt, or behind the next result

function ask(event: string, of: object, ctx: any, more: object): any {
	if (!process.env.SEEN_SESSION || asked.has(of)) return {};
	try {
		asked.add(of);
		const session = ctx.sessionManager.getSessionId();
		const input = JSON.stringify({
			hook_event_name: event, session_id: session, prompt_id: prompts ? session + "-" + prompts : undefined, cwd: ctx.cwd, ...more,
		});
		const done = spawnSync("sh", ["-c", "exec seen answer hook pi"], {
			input, stdio: ["pipe", "pipe", "ignore"], timeout: 10000, maxBuffer: 1 << 26,
		});
		return done.stdout?.length ? JSON.parse(done.stdout.toString()) : {};
	} catch {
		return {};
	}
}

// What began, or goes on: a conversation, or another part of it.
function begin(event: string, of: object, ctx: any, source?: string) {
	if (!process.env.SEEN_SESSION) return forget(event);
	news = ask(event, of, ctx, { source, transcript_path: ctx.sessionManager.getSessionFile() }).add ?? news;
}

function takeNews(...more: (string | undefined)[]): string {
	const text = [news, ...more].filter(Boolean).join("\n\n");
	news = "";
	return text;
}

export default function (pi: any) {
	pi.on("session_start", (event: any, ctx: any) => { // also after /new, /resume, /fork
		const isOld = ctx.sessionManager.getEntries().some((entry: any) => entry.type === "message");
		begin("SessionStart", event, ctx, isOld ? "resume" : event.reason === "new" ? "clear" : "startup");
	});
	pi.on("session_before_compact", () => forget("PreCompact"));
	pi.on("session_compact", (event: any, ctx: any) => begin("SessionStart", event, ctx, "compact"));
	pi.on("session_tree", (event: any, ctx: any) => begin("Rewind", event, ctx)); // /tree: another branch of the conversation
	pi.on("before_agent_start", (event: any, ctx: any) => {
		prompts++;
		const text = takeNews(ask("UserPromptSubmit", event, ctx, { prompt: event.prompt }).add);
		if (text) return { message: { customType: "seen", content: text, display: false } };
	});
	pi.on("tool_call", (event: any, ctx: any) => {
		const answer = ask("PreToolUse", event, ctx, {
			tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input,
		});
		if (answer.add) added.set(event.toolCallId, answer.add);
		if (answer.refuse) return { block: true, reason: answer.refuse };
	});
	pi.on("tool_result", (event: any, ctx: any) => {
		const text = event.content?.length === 1 && event.content[0].type === "text" && !event.isError ? event.content[0].text : undefined;
		const failed = event.toolName === "bash" && event.isError;
		const isWhole = event.toolName !== "bash" || !event.details?.truncation; // what a command printed
		const answer = ask(failed ? "PostToolUseFailure" : "PostToolUse", event, ctx, {
			tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input,
			tool_response: isWhole && ["read", "grep", "find", "ls", "bash"].includes(event.toolName) ? text : undefined,
		});
		const more = added.get(event.toolCallId);
		added.delete(event.toolCallId);
		if (text !== undefined && answer.output !== undefined) return { content: [{ type: "text", text: answer.output }] };
		const besides = text === undefined ? "" : takeNews(more);
		if (besides) return { content: [...event.content, { type: "text", text: besides }] };
	});
}
