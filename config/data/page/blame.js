/* Who wrote each line of the files that steps changed. */

const WRITERS = { step: 'step', before_session: 'before', external: 'external', undo: 'undo', unknown: 'not known' };
const STEP_HUES = 6; /* of steps, one after the other: page.css */

function writerClass(origin) {
	return origin.kind === 'step' ? `by-step hue-${origin.step % STEP_HUES}` : `by-${origin.kind.replace('_session', '')}`;
}

/* Lines that follow each other and have one writer: its name stands beside the first. */
function runOf(origin, first, lines, digits) {
	const name = origin.kind === 'step' ? `step ${origin.step}` : WRITERS[origin.kind] || shown(origin.kind);
	return make('div', { class: `run ${writerClass(origin)}` }, make('span', { class: 'who' }, name),
		make('span', { class: 'places', 'aria-hidden': 'true' }, lines.map((_, i) => `${first + i}\n`.padStart(digits + 1)).join('')),
		make('code', null, lines.map(line => source(line) + '\n').join('')));
}

function linesOfFile(file) {
	const lines = file.text.split('\n'), runs = [], digits = String(lines.length).length;
	for (let i = 0, at = 0; i < file.runs.length; i += 2) {
		runs.push(runOf(file.origins[file.runs[i]], at + 1, lines.slice(at, at + file.runs[i + 1]), digits));
		at += file.runs[i + 1];
	}
	return make('div', { class: 'blame', tabindex: '0', role: 'group', 'aria-label': `Lines of ${visible(file.path)}` }, runs);
}

/* "12 lines: 8 step, 3 before, 1 external". */
function writersOf(file) {
	const counts = {};
	let all = 0;
	for (let i = 0; i < file.runs.length; i += 2) {
		const kind = file.origins[file.runs[i]].kind;
		counts[kind] = (counts[kind] || 0) + file.runs[i + 1];
		all += file.runs[i + 1];
	}
	const words = Object.keys(WRITERS).filter(kind => counts[kind]).map(kind => `${number(counts[kind])} ${WRITERS[kind]}`);
	return `${plural(all, 'line')}${words.length ? ': ' + words.join(', ') : ''}`;
}

function blamedFile(file) {
	const details = make('details', { class: 'step' },
		make('summary', null, named(shown(file.path)), ' ', make('span', { class: 'faint' }, writersOf(file))));
	details.addEventListener('toggle', () => {
		if (details.open && !details.querySelector('.blame'))
			details.append(linesOfFile(file));
	});
	return details;
}

function legend() {
	const entries = [['by-step hue-1', 'step', 'written in that step; each has a colour of six'], ['by-before', 'before', 'there before the session changed the file'],
		['by-external', 'external', 'an external program wrote it'], ['by-undo', 'undo', 'came by seen undo or seen redo'],
		['by-unknown', 'not known', 'more than one may have written it']];
	return make('ul', { class: 'plain-list legend' }, entries.map(([kind, name, text]) =>
		make('li', null, make('span', { class: `run ${kind}` }, make('span', { class: 'who' }, name)), ' ', text)));
}

function blameOf() {
	const blame = JSON.parse($('blame').textContent);
	return blame.files.length || blame.left_out ? [make('h3', null, 'Line by line'), legend(), blame.files.map(blamedFile),
		blame.left_out ? paragraph(`${plural(blame.left_out, 'file')} more: seen blame shows each.`) : null] : null;
}
