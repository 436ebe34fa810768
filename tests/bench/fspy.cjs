// Runs a command under fspy, the tracker of files in vite-plus, by `runCommand` of its native binding.
//
// usage: node fspy.cjs LOG COMMAND [ARGUMENT...]
//
// $BENCH_FSPY names the binding, a file that ends in .node.  The command has this program's standard streams and
// environment.  LOG gets a line for each path below the current folder: r, w and d (a folder that was listed), or -, and the path.
// The exit status is the command's.
"use strict";
const fs = require("fs");

const binding = process.env.BENCH_FSPY;
delete process.env.BENCH_FSPY;
const [log, command, ...words] = process.argv.slice(2);

require(binding).runCommand({ binName: command, args: words, envs: process.env, cwd: process.cwd() }).then(
	(done) => {
		const lines = Object.entries(done.pathAccesses).map(([path, access]) =>
			`${access.read ? "r" : "-"}${access.write ? "w" : "-"}${access.readDir ? "d" : "-"} ${path}\n`);
		fs.writeFileSync(log, lines.join("") + "end\n");
		process.exit(done.exitCode);
	},
	(error) => {
		process.stderr.write(`fspy: ${error}\n`);
		process.exit(125);
	});
