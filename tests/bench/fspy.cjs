// Runs a command under fspy, the tracker of files in vite-plus, by `runCommand` of its native binding.
//
// usage: node fspy.cjs LOG COMMAND [ARGUMENT...]
//
// $BENCH_FSPY names the binding, a file that ends in .node; its shared memory is in $BENCH_FSPY_MEMORY.  The command has this
// program's standard streams and environment.  LOG gets a line for each path below the current folder: r, w and d (a folder that was listed), or -, and the path.
// The exit status is the command's.
"use strict";
const fs = require("fs");

const binding = process.env.BENCH_FSPY;
// The binding takes the folder from TMPDIR, and gives its whole environment on: env puts the command's own back.
const before = process.env.TMPDIR === undefined ? ["-u", "TMPDIR"] : ["TMPDIR=" + process.env.TMPDIR];
process.env.TMPDIR = process.env.BENCH_FSPY_MEMORY;
delete process.env.BENCH_FSPY;
delete process.env.BENCH_FSPY_MEMORY;
const [log, ...words] = process.argv.slice(2);

require(binding).runCommand({ binName: "env", args: [...before, ...words], envs: process.env, cwd: process.cwd() }).then(
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
