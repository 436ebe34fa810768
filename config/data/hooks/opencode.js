// By `seen hooks install`, for opencode or kilo; `seen hooks remove` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function forget(event) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 10000 });
}

const children = new Set(); // conversations of sub-agents
const working = new Set(); // conversations whose turn has not ended
const subAgents = new Set(); // and those that began beside another's: sub-agents, and what is at work in the same server
let last; // the conversation that was prompted last

// Until it ends, nothing tells whose commands are whose.
function beginBeside(session) {
	if (subAgents.has(session)) return;
	subAgents.add(session);
	forget("SubagentStart");
}

export const SeenHooks = async () => ({
	event: async ({ event }) => {
		const session = event.properties?.info ?? {};
		const id = event.properties?.sessionID;
		if (event.type === "session.created" && session.parentID) {
			children.add(session.id);
			beginBeside(session.id);
		} else if (event.type === "session.created") {
			forget("SessionCreated");
		} else if (event.type === "session.updated" && session.revert) {
			forget("SessionReverted");
		} else if (event.type === "session.idle" || event.type === "session.error") {
			working.delete(id);
			if (subAgents.delete(id)) forget("SubagentStop");
		} else if (event.type === "session.compacted") {
			forget("PostCompact");
		}
	},
	"chat.message": async ({ sessionID }) => {
		// A sub-agent that goes on is not created again.
		if (children.has(sessionID) || [...working].some((other) => other !== sessionID)) beginBeside(sessionID);
		else if (last !== sessionID) forget("SessionResumed");
		working.add(sessionID);
		last = sessionID;
	},
});
