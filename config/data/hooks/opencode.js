// By `seen hooks install`, for opencode or kilo; `seen hooks remove` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function forget(event) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 10000 });
}

const subAgents = new Set();

export const SeenHooks = async () => ({
	event: async ({ event }) => {
		const session = event.properties?.info ?? {};
		const id = event.properties?.sessionID;
		if (event.type === "session.created" && session.parentID) {
			subAgents.add(session.id);
			forget("SubagentStart");
		} else if (event.type === "session.created") {
			forget("SessionCreated");
		} else if (event.type === "session.updated" && session.revert) {
			forget("SessionReverted");
		} else if ((event.type === "session.idle" || event.type === "session.error") && subAgents.delete(id)) {
			forget("SubagentStop");
		} else if (event.type === "session.compacted") {
			forget("PostCompact");
		}
	},
});
