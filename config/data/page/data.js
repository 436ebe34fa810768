/*
 * What the page's elements hold: cli/report/report_html_events.h has the format.  Columns, an entry each for every event, and a row for
 * each process: one that was copied, or became another program, goes on in its row.
 */

const MARK = { PROCESS: 1, ERROR: 2, AMOUNT: 4, PATH: 8, DETAILS: 16, ATTEMPTED: 32, BY_OTHERS: 64, AT_LEAST: 128 };
const CONTEXT_ATTACHED = 1, CONTEXT_PARTIAL = 128;

/* What an event is drawn and counted as. */
const KINDS = [
	{ name: 'read', title: 'Reads', text: 'opened to read, listed, read, mapped' },
	{ name: 'write', title: 'Writes', text: 'opened to write, written, made, renamed, removed, changed' },
	{ name: 'process', title: 'Starts, ends', text: 'programs and processes that began or ended' },
	{ name: 'failed', title: 'Failed', text: 'calls that came back with an error' },
	{ name: 'note', title: 'Records', text: 'given, kept, forgotten, coverage' },
	{ name: 'saved', title: 'Saved', text: 'a repeated read, answered with a notice' },
	{ name: 'conflict', title: 'Conflicts', text: 'changed by others, or held back by the guard' },
	{ name: 'rule', title: 'Rules', text: 'a rule applied' },
];
const KIND = Object.fromEntries(KINDS.map((kind, i) => [kind.name, i]));
const OPS = {
	read: ['list', 'read', 'read_total'],
	write: ['write', 'write_total', 'create', 'delete', 'rename', 'link', 'symlink', 'truncate', 'metadata', 'edited'],
	process: ['start', 'fork', 'exec', 'exit', 'chdir'],
	failed: ['exec_failed', 'damaged'],
	saved: ['notice', 'diffed'],
	conflict: ['guarded', 'changed'],
	rule: ['ruled'],
};

/* Of a file, in the order of put_file(). */
const FILE_NUMBERS = ['opensRead', 'bytesRead', 'opensWrite', 'bytesWritten', 'repeats', 'notices', 'bytesSaved', 'changes', 'edits',
	'changed', 'given', 'failed', 'listings', 'inWorkspace'];

const data = {
	count: 0,        /* events */
	leftOut: 0,      /* that the page does not have */
	firstMs: 0,      /* since 1970: what the times count from */
	from: 0, to: 0,  /* of all times */
	rows: [],
	files: [],
	/* Columns: time in µs, number of the record, op, marks, kind, row, errno, texts, amount. */
	time: null, record: null, op: null, marks: null, kind: null, row: null, error: null, path: null, details: null, amount: null,
	ops: [], roles: [], errors: [],
};

/* ---- texts: as bytes, turned into strings when they are shown ---- */

const texts = {
	blob: new Uint8Array(1 << 16), at: [0], utf8: new TextDecoder(),
	get count() {
		return this.at.length - 1;
	},
	/* 0 and what is not there: "". */
	get(index) {
		if (index < 1 || index >= this.at.length)
			return '';
		return visible(this.utf8.decode(this.blob.subarray(this.at[index - 1], this.at[index])));
	},
	add(source, from, shared, length) {
		const start = this.at.at(-1), before = this.at.at(-2) || 0;
		if (start + shared + length > this.blob.length) {
			const more = new Uint8Array(Math.max(this.blob.length * 2, start + shared + length));
			more.set(this.blob);
			this.blob = more;
		}
		this.blob.copyWithin(start, before, before + shared);
		this.blob.set(source.subarray(from, from + length), start + shared);
		this.at.push(start + shared + length);
	},
};

/* ---- numbers ---- */

class Reader {
	constructor(source) {
		this.bytes = source;
		this.at = 0;
	}
	get more() {
		return this.at < this.bytes.length;
	}
	byte() {
		return this.bytes[this.at++] || 0;
	}
	number() {
		let value = 0, scale = 1, byte;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 0x7f) * scale;
			scale *= 128;
		} while (byte & 0x80);
		return value || 0;
	}
	step() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

function unpack(element) {
	const text = element.textContent;
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), result = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		result[i] = binary.charCodeAt(i);
	return result;
}

/* ---- processes ---- */

const rowOf = new Map();     /* of a START or FORK record: its row */
const announcer = new Map(); /* of an EXEC record: the row that wrote it */
const lastOf = new Map();    /* of a pid: its last row */
const THEN_MAX = 8;         /* programs that a process became after its first: as many are kept */
let strangers = -1;          /* the row of what no process of the session did */

function addRow(pid, parent, time) {
	data.rows.push({
		pid, parent, start: time, last: time, end: NaN, status: NaN, role: -1, name: 0, args: 0, partial: false, attached: true,
		isNamed: false, then: [], first: null, counts: new Array(KINDS.length).fill(0), readBytes: 0, writeBytes: 0,
		allFrom: Infinity, allTo: -Infinity, depth: 0, size: 1, place: 0,
	});
	return data.rows.length - 1;
}

function rowOfProcess(process, time) {
	const row = process ? rowOf.get(process) : undefined;
	if (row !== undefined)
		return row;
	if (strangers < 0)
		strangers = addRow(0, -1, time);
	return strangers;
}

/* A program runs: in the row of who announced it, if that has its pid, else in one of its own. */
function startRow(event, start) {
	const origin = start.origin ? (start.isFork ? rowOf : announcer).get(start.origin) : undefined;
	const same = origin === undefined ? lastOf.get(start.pid) : origin;
	let index = same;
	if (start.isFork || same === undefined || data.rows[same].pid !== start.pid || !isNaN(data.rows[same].end)) {
		const above = origin === undefined ? lastOf.get(start.parent) : origin;
		index = addRow(start.pid, above === undefined ? -1 : above, data.time[event]);
	}
	const row = data.rows[index];
	if (start.isFork) {
		const copied = data.rows[row.parent];
		if (copied)
			[row.name, row.args] = [copied.name, copied.args];
	} else {
		const program = [data.path[event], data.details[event]];
		if (!row.isNamed)
			[row.name, row.args, row.isNamed] = [...program, true];
		else if (row.then.length < THEN_MAX)
			row.then.push(program);
	}
	row.role = start.role;
	row.attached = (start.context & CONTEXT_ATTACHED) !== 0;
	row.partial = row.partial || (start.context & CONTEXT_PARTIAL) !== 0;
	lastOf.set(start.pid, index);
	rowOf.set(data.record[event], index);
	return index;
}

/* ---- events ---- */

let kindOfOp = [];
const opensToWrite = []; /* of a text of details: does the open that it tells of write? */

function kindOf(event, op) {
	if (data.error[event] && kindOfOp[op] !== KIND.conflict && kindOfOp[op] !== KIND.rule)
		return KIND.failed;
	if (op !== data.opOpen && op !== data.opMap)
		return kindOfOp[op];
	const details = data.details[event];
	if (opensToWrite[details] === undefined) {
		const words = texts.get(details).split(' ');
		opensToWrite[details] = op === data.opMap ? words.includes('w') && words.includes('shared')
			: words[0].includes('w') || words.includes('creat') || words.includes('trunc');
	}
	return opensToWrite[details] ? KIND.write : KIND.read;
}

const state = { record: 0, time: 0, process: 0, path: 0, details: 0 };

function readEvent(reader, event) {
	const op = reader.byte(), marks = reader.byte();
	data.op[event] = op;
	data.marks[event] = marks;
	data.record[event] = state.record += reader.number();
	data.time[event] = state.time += reader.step();
	if (marks & MARK.PROCESS) {
		const back = reader.number();
		state.process = back ? state.record - back + 1 : 0;
	}
	if (marks & MARK.ERROR)
		data.error[event] = reader.number();
	if (marks & MARK.AMOUNT)
		data.amount[event] = reader.number();
	if (marks & MARK.PATH)
		data.path[event] = state.path += reader.step();
	if (marks & MARK.DETAILS)
		data.details[event] = state.details += reader.step();
	let index;
	if (op === data.opStart || op === data.opFork) {
		const start = { isFork: op === data.opFork, pid: reader.number(), parent: reader.number(), role: reader.number() - 1,
			context: reader.number(), origin: reader.number() };
		start.origin = start.origin ? state.record - start.origin : 0;
		index = startRow(event, start);
	} else {
		index = rowOfProcess(state.process, state.time);
	}
	if (op === data.opExec && index !== strangers)
		announcer.set(state.record, index);
	data.row[event] = index;
	const kind = data.kind[event] = kindOf(event, op), row = data.rows[index];
	row.counts[kind]++;
	row.last = Math.max(row.last, state.time);
	if (op === data.opRead || op === data.opWrite || op === data.opReadTotal || op === data.opWriteTotal)
		countBytes(row, event, op);
	if (op === data.opExit) {
		row.end = state.time;
		row.status = data.amount[event];
		row.first = null;
	}
}

/* A total counts again what was told of the first call. */
function countBytes(row, event, op) {
	const isRead = op === data.opRead || op === data.opReadTotal, key = data.path[event] * 2 + (isRead ? 1 : 0);
	let amount = data.amount[event];
	row.first = row.first || new Map();
	if (op === data.opRead || op === data.opWrite) {
		row.first.set(key, amount);
	} else {
		amount = Math.max(0, amount - (row.first.get(key) || 0));
		row.first.delete(key);
	}
	row[isRead ? 'readBytes' : 'writeBytes'] += amount;
}

function prepare(words) {
	Object.assign(data, { ops: words.ops, roles: words.roles, errors: words.errors, leftOut: words.left_out, firstMs: words.first_ms });
	kindOfOp = words.ops.map(op => {
		const found = Object.entries(OPS).find(([, names]) => names.includes(op));
		return found ? KIND[found[0]] : KIND.note;
	});
	for (const [key, op] of Object.entries({ opStart: 'start', opFork: 'fork', opExec: 'exec', opExit: 'exit', opOpen: 'open', opMap: 'map',
		opRead: 'read', opWrite: 'write', opReadTotal: 'read_total', opWriteTotal: 'write_total' }))
		data[key] = words.ops.indexOf(op);
	const count = words.events;
	data.time = new Float64Array(count);
	data.record = new Float64Array(count);
	data.amount = new Float64Array(count);
	data.row = new Uint32Array(count);
	data.path = new Uint32Array(count);
	data.details = new Uint32Array(count);
	data.error = new Uint16Array(count);
	data.op = new Uint8Array(count);
	data.marks = new Uint8Array(count);
	data.kind = new Uint8Array(count);
}

/* Reads all elements; progress(0 to 1) is told now and then. */
async function readData(words, progress) {
	const parts = ['texts', 'files', 'events'].flatMap(kind => [...document.getElementsByClassName(kind)]), slice = new Slice();
	let event = 0, path = 0;

	prepare(words);
	for (let i = 0; i < parts.length; i++) {
		const reader = new Reader(unpack(parts[i])), kind = parts[i].className;
		parts[i].remove(); /* its text is not needed any more */
		while (reader.more) {
			if (kind === 'texts') {
				const shared = reader.number(), length = reader.number();
				texts.add(reader.bytes, reader.at, shared, length);
				reader.at += length;
			} else if (kind === 'files') {
				path += reader.step();
				const file = { path };
				for (const name of FILE_NUMBERS)
					file[name] = reader.number();
				data.files.push(file);
			} else if (event < words.events) {
				readEvent(reader, event++);
			} else {
				break;
			}
			if (slice.over()) {
				progress(i / parts.length);
				await slice.pause();
			}
		}
	}
	data.count = event;
	await orderRows(slice);
}

/* Rows as a tree, parents above their children: `place` of each, `depth`, `size`, its own row counted, and from when to when
 * there is something in it or below it. */
async function orderRows(slice) {
	const rows = data.rows, next = new Float64Array(rows.length);
	for (let i = rows.length - 1; i >= 0; i--) {
		const row = rows[i], above = rows[row.parent];
		row.allFrom = Math.min(row.start, row.allFrom);
		row.allTo = Math.max(row.last, row.allTo);
		if (above) {
			above.size += row.size;
			above.allFrom = Math.min(above.allFrom, row.allFrom);
			above.allTo = Math.max(above.allTo, row.allTo);
		}
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	let place = 0;
	for (let i = 0; i < rows.length; i++) {
		const row = rows[i], above = rows[row.parent];
		if (i === strangers) { /* last, below all that is known; nothing is below it */
			row.place = rows.length - 1;
			continue;
		}
		row.depth = above ? above.depth + 1 : 0;
		row.place = above ? next[row.parent] : place;
		next[i] = row.place + 1;
		if (above)
			next[row.parent] += row.size;
		else
			place += row.size;
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	data.placed = new Uint32Array(rows.length); /* of a place: its row */
	for (let i = 0; i < rows.length; i++)
		data.placed[rows[i].place] = i;
}
