// By `seen hooks install pi`; `seen hooks remove pi` removes this file.
// Has `seen` give files in full again when the conversation is another one, or shorter than it was.
// Outside of `seen run` it does nothing.
import { spawnSync } from "node:child_process";

function forget(event: string) {
	spawnSync("sh", ["-c", "seen forget --hook " + event + " >/dev/null 2>&1 || :"], { stdio: "ignore", timeout: 10000 });
}

export default function (pi: any) {
	pi.on("session_start", () => forget("SessionStart")); // also after /new, /resume, /fork
	pi.on("session_before_compact", () => forget("PreCompact"));
	pi.on("session_compact", () => forget("PostCompact"));
	pi.on("session_tree", () => forget("Rewind")); // /tree: another branch of the conversation
}
