/* The steps that changed something, each with its files and, opened, its diff. */

const CHANGE_SIGNS = { made: '+', changed: '~', removed: '−', renamed: '→' };
const DIFF_CLASSES = { '+': 'added', '-': 'removed', '@': 'hunk' };

function diffLine(line) {
	const kind = /^(\+\+\+|---|diff |index |new |old |deleted |rename |similarity |#)/.test(line) ? 'meta' : DIFF_CLASSES[line[0]];
	return make('span', { class: kind ? `line ${kind}` : 'line' }, source(line) + '\n');
}

/* A diff is made elements when it is opened: most are not. */
function diffOf(text) {
	const lines = text.split('\n'), all = lines[lines.length - 1] ? lines : lines.slice(0, -1);
	return make('pre', { class: 'diff', tabindex: '0', 'aria-label': 'Diff' }, all.map(diffLine));
}

function linesOf(added, removed) {
	return [added ? make('span', { class: 'added' }, `+${number(added)}`) : null, ' ',
		removed ? make('span', { class: 'removed' }, `−${number(removed)}`) : null];
}

function stepFile(file) {
	const name = file.old_path ? [named(shown(file.old_path)), ' → ', named(shown(file.path))] : named(shown(file.path));
	return make('li', null, make('span', { class: 'sign', title: shown(file.change) }, CHANGE_SIGNS[file.change] || '?'), ' ', name, ' ',
		file.binary ? 'binary' : linesOf(file.added, file.removed), file.note ? ` (${shown(file.note)})` : null);
}

/* What an agent did by itself, where its hook reported what that was; else the command. */
function stepText(step) {
	const call = step.kind === 'own_action' ? step.tool_call : null;
	return call && call.tool ? `${call.tool} ${call.input || ''}` : step.command;
}

/* The number of its prompt, as seen story has it. */
function promptOf(step) {
	const call = step.tool_call;
	return call && call.prompt_number ? [make('span', { class: 'faint', title: visible(call.prompt_text || '') }, `p${call.prompt_number}`), ' '] : null;
}

function stepOf(step, diff) {
	const status = step.kind === 'own_action' ? 'by itself' : step.status === null ? '' : `exit ${step.status}`;
	const details = make('details', { class: 'step', id: `step-${step.number}` },
		make('summary', null, make('span', { class: 'number' }, `${step.number}`), ' ', shortTime(step.time), ' ', promptOf(step), named(brief(shown(stepText(step)), 160)),
			' ', make('span', { class: 'faint' }, `${status}${status ? ', ' : ''}${plural(step.files.length, 'file')}`), ' ', linesOf(step.added, step.removed)),
		make('ul', { class: 'plain-list' }, step.files.map(stepFile)),
		(step.cannot_be_undone || []).map(lost => box('warn', strong('Cannot be undone: '), named(shown(lost.path)), ': ', shown(lost.why))));
	details.addEventListener('toggle', () => {
		if (details.open && diff && !details.querySelector('.diff'))
			details.append(diffOf(diff));
	});
	return details;
}

function stepsOf(report) {
	const steps = (report.steps && report.steps.rows) || [];
	const diffs = JSON.parse($('diffs').textContent);
	const gap = report.steps && report.steps.without_step;
	return steps.length || gap ? [make('h3', null, 'Step by step'), steps.map(step => stepOf(step, diffs[step.number])),
		report.steps.count > steps.length ? paragraph(`The first ${number(steps.length)} of ${number(report.steps.count)}; seen story has all.`) : null,
		gap ? box('warn', `${plural(gap, 'path')} changed in no known step: seen diff shows what.`) : null] : null;
}
