// Tokens of texts by gpt-tokenizer's o200k_base, printed as one number.
//
// usage: node count_tokens.js MODULE FILE    MODULE: where npm put gpt-tokenizer; FILE: as for count_tokens.c
"use strict";
const fs = require("fs");
const path = require("path");

const { encode } = require(path.join(process.argv[2], "cjs/encoding/o200k_base.js"));
const data = fs.readFileSync(process.argv[3]);
let count = 0;
for (let at = 0; at < data.length; ) {
	const end = data.indexOf(10, at);
	const size = Number(data.toString("ascii", at, end));
	if (end < 0 || !Number.isInteger(size) || end + 1 + size > data.length) {
		throw new Error("cut short at " + at);
	}
	count += encode(data.toString("utf8", end + 1, end + 1 + size), { allowedSpecial: new Set(), disallowedSpecial: new Set() }).length;
	at = end + 1 + size;
}
console.log(count);
