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

function ask(event: string, of: object, ctx: any, more: object): any {
	if (!process.env.SEEN_SESSION || asked.has(of)) return {};
	try {
		asked.add(of);
		const session = ctx.sessionManager.getSessionId();
		const input = JSON.stringify({
			hook_event_name: event, session_id: session, prompt_id: prompts ? session + "-" + prompts : undefined, cwd: ctx.cwd, ...more,
		});
		const done = spawnSync("sh", ["-c", "seen answer hook pi 2>/dev/null || :"], {
			input, stdio: ["pipe", "pipe", "ignore"], timeout: 10000, maxBuffer: 1 << 26,
		});
		return done.stdout?.length ? JSON.parse(done.stdout.toString()) : {};
	} catch {
		return {};
	}
}

export default function (pi: any) {
	pi.on("session_start", () => forget("SessionStart")); // also after /new, /resume, /fork
	pi.on("session_before_compact", () => forget("PreCompact"));
	pi.on("session_compact", () => forget("PostCompact"));
	pi.on("session_tree", () => forget("Rewind")); // /tree: another branch of the conversation
	pi.on("before_agent_start", (event: any, ctx: any) => {
		prompts++;
		ask("UserPromptSubmit", event, ctx, { prompt: event.prompt });
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
		const answer = ask("PostToolUse", event, ctx, {
			tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input,
			tool_response: event.toolName === "read" ? text : undefined,
		});
		const more = added.get(event.toolCallId);
		added.delete(event.toolCallId);
		if (text !== undefined && answer.output !== undefined) return { content: [{ type: "text", text: answer.output }] };
		if (text !== undefined && more) return { content: [...event.content, { type: "text", text: more }] };
	});
}
