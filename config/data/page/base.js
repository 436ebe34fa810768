'use strict';
/*
 * The page of `seen report --format html`.  Its scripts are one, in this order:
 *
 *	base.js      elements, numbers, names of others, work in slices
 *	data.js      takes the events apart
 *	lanes.js     the events of each row, in the order of their times
 *	timeline.js  draws them
 *	moves.js     what mouse, fingers and keys do there
 *	table.js     tables of any length
 *	details.js   what was selected; the tables
 *	steps.js     what each step changed
 *	blame.js     who wrote each line
 *	sections.js  what the report says
 *	page.js      theme, keys, the beginning
 *
 * Two rules.  What comes from a journal reaches the page as text (textContent, fillText) and by no other way.  And nothing that takes
 * longer with more events is done in one go: it pauses every few milliseconds, so that the page answers meanwhile.
 */

/* ---- elements ---- */

const $ = id => document.getElementById(id);

/* make('td', { class: 'number' }, 'text', element): attributes by name, functions as listeners. */
function make(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (typeof value === 'function')
			element.addEventListener(name, value);
		else if (value !== undefined && value !== null && value !== false)
			element.setAttribute(name, value === true ? '' : value);
	}
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined)
			element.append(child); /* a string becomes a text, whatever is in it */
	return element;
}

const replace = (element, ...children) => element.replaceChildren(...children.flat(Infinity).filter(child => child !== null));

/* ---- texts ---- */

/* What a name holds that would not be seen, or would turn what stands around it: control characters, those without width, those that
 * change the direction of writing. */
const UNSEEN = new RegExp('[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f' +
	'\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]', 'gu');
const NAMED = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

function visible(text) {
	return String(text).replace(UNSEEN, character => {
		const code = character.codePointAt(0);
		return NAMED[character] || (code < 0x100 ? '\\x' + code.toString(16).padStart(2, '0')
			: '\\u{' + code.toString(16) + '}');
	});
}

/* Lines of a file as they stand in it: tabs stay, and what JSON has twice, a backslash, is there once. */
const source = text => text.split('\t').map(visible).join('\t').replaceAll('\\\\', '\\');

/* An element that shows a name of others: from left to right whatever its letters. */
function named(text, attributes) {
	return make('bdi', { class: 'name', dir: 'ltr', ...attributes }, visible(text));
}

/* A long name for a line: its beginning and its end. */
function brief(text, length) {
	if (text.length <= length)
		return text;
	const end = Math.ceil(length * 0.65);
	return text.slice(0, length - end - 1) + '…' + text.slice(text.length - end);
}

/* ---- numbers ---- */

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const number = value => GROUPED.format(value || 0);
const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many || one + 's'}`;

function bytes(value) {
	const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
	let at = 0;
	for (value = value || 0; value >= 999.5 && at < units.length - 1; at++)
		value /= 1000;
	return `${at === 0 || value >= 99.95 ? Math.round(value) : value.toPrecision(value >= 9.995 ? 3 : 2)} ${units[at]}`;
}

/* Microseconds, for a person. */
function duration(us) {
	const sign = us < 0 ? '−' : '', value = Math.abs(us);
	if (value < 1e3)
		return `${sign}${Math.round(value)} µs`;
	if (value < 1e6)
		return `${sign}${+(value / 1e3).toPrecision(3)} ms`;
	if (value < 6e7)
		return `${sign}${+(value / 1e6).toPrecision(3)} s`;
	const seconds = Math.round(value / 1e6), hours = Math.floor(seconds / 3600);
	const minutes = Math.floor(seconds / 60) % 60, rest = seconds % 60;
	return sign + (hours ? `${number(hours)} h ${minutes} min` : `${minutes} min ${rest} s`);
}

/* UTC, as everywhere in this program. */
function clock(ms, digits) {
	const date = new Date(ms);
	return isNaN(date) ? '?' : date.toISOString().replace('T', ' ').slice(0, digits ? 20 + digits : 19);
}

/* ---- work in slices ---- */

const SLICE_MS = 8;
const resumed = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => resumed.shift()();
/* Lets the browser do what waits: draw, take keys.  A timer would wait 4 ms each time. */
const pause = () => new Promise(resume => {
	resumed.push(resume);
	channel.port2.postMessage(0);
});

/* for (...) if (slice.over()) await slice.pause(); */
class Slice {
	constructor() {
		this.end = performance.now() + SLICE_MS;
	}
	over() {
		return performance.now() >= this.end;
	}
	async pause() {
		await pause();
		this.end = performance.now() + SLICE_MS;
	}
}

/* In loops over a million, the clock is looked at once in so many rounds. */
const STRIDE = 4096;

/* Work that makes what was begun before it needless: `const run = turns.next()`, and after each pause `if (run.late) return`. */
class Turns {
	next() {
		if (this.last)
			this.last.late = true;
		return this.last = { late: false };
	}
}

/* A list sorted by slices: runs by the engine, then merged.  Stable. */
async function sorted(list, compare, run) {
	const RUN = 2048, slice = new Slice();
	let from = list.slice(), to = new Array(list.length);
	for (let at = 0; at < from.length; at += RUN) {
		const part = from.slice(at, at + RUN).sort(compare);
		for (let i = 0; i < part.length; i++)
			from[at + i] = part[i];
		if (slice.over())
			await slice.pause();
		if (run && run.late)
			return null;
	}
	for (let width = RUN; width < from.length; width *= 2) {
		for (let at = 0; at < from.length; at += 2 * width) {
			const middle = Math.min(at + width, from.length), end = Math.min(at + 2 * width, from.length);
			let a = at, b = middle;
			for (let i = at; i < end; i++) {
				to[i] = a < middle && (b >= end || compare(from[a], from[b]) <= 0) ? from[a++] : from[b++];
				if (i % STRIDE === 0 && slice.over()) {
					await slice.pause();
					if (run && run.late)
						return null;
				}
			}
		}
		[from, to] = [to, from];
	}
	return from;
}
