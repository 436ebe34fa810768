/* What the report's JSON says: config/data/schema/report.schema.json has its members. */

/* JSON has bytes of others as text in which \ is doubled and \xNN stands for what is no UTF-8, as the texts of events have; the rest is
 * made visible here. */
const shown = text => (text === null || text === undefined ? '' : visible(text));
const baseName = path => shown(path).split('/').pop();
const box = (kind, ...children) => make('div', { class: `box ${kind}` }, children);
const paragraph = (...children) => make('p', null, children);
const strong = text => make('strong', null, text);
const sum = (values, name) => values.reduce((total, value) => total + (value[name] || 0), 0);

/* A small table, all of it at once. */
function smallTable(label, columns, rows, more) {
	const titles = columns.map(column => make('th', { scope: 'col', class: column.class }, column.title));
	const cells = row => columns.map((column, i) => make(i ? 'td' : 'th', { scope: i ? null : 'row', class: column.class }, column.cell(row)));
	return make('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label },
		make('table', more, make('caption', { class: 'unseen' }, label), make('thead', null, make('tr', null, titles)),
			make('tbody', null, rows.map(row => make('tr', null, cells(row))))));
}

/* A table of rows that may be many.  row.number, where there is one, is a record: Enter or a click shows it in the timeline. */
function longTable(id, label, noun, columns, rows, all) {
	const place = make('div', { id });
	const column = each => ({ ...each, cell: at => each.cell(rows[at]), value: each.value && (at => each.value(rows[at])) });
	new Table(place, {
		label, noun, columns: columns.map(column), ids: rows.map((row, at) => at), hint: 'part of a name',
		find: rows.length > PAGE_ROWS ? findInTexts(at => [shown(rows[at].path || rows[at].rule || rows[at].name)]) : null,
		open: rows.length && rows[0].number ? at => showRecord(rows[at].number) : null,
	});
	return [place, all > rows.length ? make('p', { class: 'hint' }, `The first ${number(rows.length)} of ${number(all)}; seen log has all.`) : null];
}

/* Shows a record in the timeline, once the events are read, if the page has it. */
function showRecord(record) {
	const records = data.record && data.record.subarray(0, data.count), event = records ? firstFrom(records, record) : 0;
	if (!timeline.ready || records[event] !== record) {
		say('The timeline does not have it');
		return;
	}
	chooseEvent(event);
	$('timeline').scrollIntoView();
	$('rows').focus({ preventScroll: true });
}

const shortTime = time => (time ? make('time', { datetime: time, title: shown(time) }, shown(time).slice(11, 19)) : '?');

/* ---- head ---- */

function fillHead(report) {
	const from = Date.parse(report.start), to = Date.parse(report.end), runs = report.runs || [];
	const title = shown(report.session) || 'A journal';
	$('title').textContent = title;
	document.title = `${title}: seen report`;
	replace($('about'), [
		runs.length ? make('span', null, runs.length === 1 ? named(brief(shown(runs[0].command), 120)) : plural(runs.length, 'run')) : null,
		report.workspace ? make('span', null, 'in ', named(shown(report.workspace))) : null,
		from ? make('span', null, make('time', { datetime: report.start }, `${clock(from)} UTC`)) : null,
		from && to ? make('span', null, duration((to - from) * 1000)) : null,
	]);
	replace($('made'), 'Made by seen report from the journal', report.journal ? [' ', named(shown(report.journal))] : '',
		'. Times are UTC. This page holds all that it shows; it asks no network.');
}

/* ---- coverage ---- */

function fillCoverage(report) {
	const coverage = report.coverage || {}, programs = coverage.programs || [], missing = [];
	const tell = (number, text) => number && missing.push(text);
	tell(coverage.unobserved, [strong(plural(coverage.unobserved, 'program')), coverage.unobserved === 1 ? ' was' : ' were',
		' started and not observed: what that read and wrote is not in this report.']);
	tell(coverage.partial, [strong(plural(coverage.partial, 'process', 'processes')), coverage.partial === 1 ? ' was' : ' were',
		' observed in part: io_uring, aio or the like was used, and its work is not in this report.']);
	tell(coverage.unattached, [strong(plural(coverage.unattached, 'process', 'processes')),
		' came without a known place in the session’s tree: recorded, never answered.']);
	tell(coverage.without_journal, [strong(plural(coverage.without_journal, 'process', 'processes')), ' could not write to the journal.']);
	tell(coverage.lost, [strong(plural(coverage.lost, 'record')), ' could not be written.']);
	tell(coverage.undone, [strong(plural(coverage.undone, 'record')), ' were begun and never finished: their writers died.']);
	tell(coverage.damaged, [strong(plural(coverage.damaged, 'record')), ' do not hold: their check is wrong.']);
	const events = report.events || {};
	const doubts = [];
	if (events.attempted)
		doubts.push(`Of ${plural(events.attempted, 'call')} only the attempt is known: the supervisor saw it, not what came of it.`);
	if (events.unresolved)
		doubts.push(`Of ${plural(events.unresolved, 'access', 'accesses')} the directory is not known: they are in the sums, and in no file’s row.`);
	if (events.unknown)
		doubts.push(`${plural(events.unknown, 'event')} are of a later version, and in no number here.`);
	const runs = coverage.runs || 0;
	if (!runs)
		doubts.push('No run of the session has ended, so what was not seen has not been counted.');
	const kind = missing.length ? 'warn' : runs ? '' : 'plainly';
	const head = missing.length ? 'Not everything was seen.'
		: runs ? 'Every program that was started was observed.' : 'What was not seen is not known yet.';
	replace($('coverage-body'), box(kind,
		paragraph(strong(head), ' ', plural(coverage.observed || 0, 'program'), ' observed',
			coverage.opens ? `, ${plural(coverage.opens, 'file')} opened` : '', runs > 1 ? `, in ${number(runs)} runs.` : '.'),
		missing.length ? make('ul', null, missing.map(text => make('li', null, text))) : null,
		doubts.map(text => paragraph(text)),
		programs.length ? longTable('coverage-table', 'Programs that were not observed', ['program', 'programs'], [
			{ title: 'Not observed', cell: row => named(shown(row.name)) },
			{ title: 'Why', class: 'wide', cell: row => (row.partly ? 'in part: ' : '') + shown(row.reason) },
			{ title: 'Processes', class: 'number', cell: row => number(row.count) },
		], programs, programs.length + (coverage.programs_left_out || 0)) : null));
	return missing.length;
}

/* ---- figures ---- */

function figure(kind, value, title, text, href) {
	const inside = [make('b', null, value), make('span', null, title), make('small', null, text)];
	return make('li', { class: kind }, href ? make('a', { href }, inside) : make('div', null, inside));
}

function conflictCounts(conflicts) {
	const guarded = conflicts.guarded || [];
	return {
		denied: sum(guarded.filter(row => row.verdict === 'denied'), 'count'), warned: sum(guarded.filter(row => row.verdict === 'warned'), 'count'),
		byOthers: (conflicts.changed || 0) + (conflicts.added || 0) + (conflicts.deleted || 0),
	};
}

const answersOf = saved => (saved.notices || 0) + (saved.diffs || 0) + (saved.commands || 0);

function fillFigures(report) {
	const work = report.work || {}, saved = report.saved || {}, files = report.files || {}, rules = ruleCounts(report.rules);
	const conflicts = conflictCounts(report.conflicts || {}), atLeast = more => more ? 'at least; ' : '';
	const processes = report.processes || {}, events = report.events || {}, coverage = report.coverage || {};
	replace($('figures-body'), [
		figure('', number(events.count), 'events', coverage.runs ? `of ${plural(coverage.observed, 'program')} that were observed`
			: `of ${plural((processes.count || 0) + (processes.left_out || 0), 'program')} and copies`, '#events'),
		figure('', number(files.count), 'files', files.left_out ? 'and more than could be told apart' : `${number(work.listings)} listings`, '#files'),
		figure('read', bytes(work.bytes_read), 'read', `${atLeast(work.read_more)}${number(work.opens_read)} opens`, '#balance'),
		figure('write', bytes(work.bytes_written), 'written', `${atLeast(work.written_more)}${number(work.opens_write)} opens, ${number(work.changes)} changes`, '#balance'),
		figure('saved', bytes(saved.bytes), 'saved', `${plural(answersOf(saved), 'answer')} in place of files`, '#saved'),
		figure(conflicts.denied || conflicts.warned ? 'conflict' : '', number(conflicts.denied + conflicts.warned), 'writes at risk',
			`${number(conflicts.denied)} denied; ${number(conflicts.byOthers)} changes by others`, '#conflicts'),
		figure(rules.hits ? 'rule' : '', number(rules.hits), 'rule hits', `${number(rules.denied)} denied`, '#rules'),
		figure('failed', number(work.failed), 'calls failed', `${number(events.denied)} for want of permission`, '#events'),
	]);
}

/* ---- reads against writes ---- */

function bars(label, first, rows, workOf) {
	const most = Math.max(1, ...rows.map(row => Math.max(workOf(row).bytes_read, workOf(row).bytes_written)));
	const bar = value => {
		const element = make('i', { 'aria-hidden': 'true' });
		element.style.width = `${value ? Math.max(0.5, value / most * 62) : 0}%`;
		element.hidden = !value;
		return make('span', null, element, make('em', null, value ? bytes(value) : '0'));
	};
	return smallTable(label, [
		{ title: first, cell: row => row.title },
		{ title: 'Read', class: 'side left number', cell: row => bar(workOf(row).bytes_read) },
		{ title: 'Written', class: 'side right', cell: row => bar(workOf(row).bytes_written) },
	], rows, { class: 'bars' });
}

function fillBalance(report) {
	const work = report.work || {}, outside = report.outside_workspace || {}, state = report.agent_state || {};
	const worked = row => row.work.bytes_read || row.work.bytes_written, sumOf = row => row.work.bytes_read + row.work.bytes_written;
	const roles = Object.entries(report.by_role || {}).map(([role, of]) => ({ title: role, work: of })).filter(worked)
		.sort((a, b) => sumOf(b) - sumOf(a));
	const programs = ((report.programs || {}).rows || []).filter(worked).slice(0, 8).map(row => ({
		title: make('span', { title: shown(row.executable) }, named(baseName(row.executable) || 'not known')), work: row.work }));
	const ratio = work.bytes_written ? work.bytes_read / work.bytes_written : 0;
	replace($('balance-body'),
		make('p', { class: 'hint' }, `${bytes(work.bytes_read)} read in ${plural(work.opens_read || 0, 'open')}, `,
			`${bytes(work.bytes_written)} written in ${plural(work.opens_write || 0, 'open')}`,
			ratio >= 1.5 ? `: ${ratio >= 10 ? number(Math.round(ratio)) : ratio.toFixed(1)} bytes read for each one written` : '', '. ',
			work.read_more || work.written_more ? 'Streams of libc did more than is recorded. ' : '',
			`Outside the workspace: ${bytes(outside.bytes_read)} read, ${bytes(outside.bytes_written)} written. `,
			state.opens_write ? `The agent’s own state: ${bytes(state.bytes_read)} read, ${bytes(state.bytes_written)} written.` : ''),
		make('div', { class: 'columns' }, roles.length ? bars('Reads and writes by role', 'Role', roles, row => row.work) : null,
			programs.length ? bars('Reads and writes by program', 'Program', programs, row => row.work) : null));
}

/* ---- conflicts, savings, rules, instructions, seal ---- */

const GUARD_REASONS = {
	stale: 'another program had changed it', unread: 'the agent had never read it', notice: 'the data held a notice',
	unfinished: 'another write had not ended', unreadable: 'it could not be read',
};

const isGuarded = row => row.kind === 'guarded';

function fillConflicts(report) {
	const conflicts = report.conflicts || {}, rows = conflicts.rows || [], { denied, warned, byOthers } = conflictCounts(conflicts);
	const kept = Object.values(conflicts.kept || {}).reduce((a, b) => a + b, 0);
	if (!denied && !warned && !byOthers) {
		replace($('conflicts-body'), box('', paragraph(strong('None.'), ' Nobody else changed what the session relied on, as far as was seen.')));
		return 0;
	}
	replace($('conflicts-body'), box(denied || warned ? 'bad' : 'warn', paragraph(
		strong(denied || warned ? `${plural(denied + warned, 'write')} would have destroyed something. ` : 'No write was held back. '),
		denied ? `${number(denied)} denied. ` : '', warned ? `${number(warned)} warned of and let pass. ` : '',
		byOthers ? `${plural(byOthers, 'external change')}. ` : '',
		kept ? `${plural(kept, 'version')} (${bytes(conflicts.kept_bytes)}) kept: seen restore brings them back.` : ''),
		rows.length ? longTable('conflicts-table', 'Conflicts', ['conflict', 'conflicts'], [
			{ title: 'File', cell: row => long(shown(row.path)) },
			{ title: 'When', class: 'tight', cell: row => shortTime(row.time) },
			{ title: 'What', class: 'tight', cell: row => [kindDot(KIND.conflict), isGuarded(row) ? shown(row.verdict) : `${shown(row.change)} by others`] },
			{ title: 'Why', class: 'wide', cell: row => (isGuarded(row) ? (GUARD_REASONS[row.reason] || shown(row.reason)) +
				(row.degraded ? '; let pass, it may be the session’s own' : '') : shown(row.source).replace('_', ' ')) },
			{ title: 'Program', cell: row => (row.executable ? named(baseName(row.executable)) : '–') },
			{ title: 'Kept', class: 'tight', cell: row => (row.kept ? named(shown(row.version).slice(0, 12), { title: shown(row.version) }) : '–') },
		], rows, conflicts.count) : null));
	return denied + warned;
}

function fillSaved(report) {
	const saved = report.saved || {}, answers = answersOf(saved);
	const would = (saved.bytes || 0) + (saved.given_bytes || 0), part = would ? saved.bytes / would * 100 : 0;
	const bar = make('i');
	bar.style.width = `${part}%`;
	replace($('saved-body'), box(answers ? '' : 'plainly',
		paragraph(strong(answers ? `${number(saved.bytes)} bytes were not given to the model again` : 'Nothing was given again, so nothing was saved'),
			answers ? `, about ${number(saved.tokens_estimate)} tokens (an estimate).` : '.'),
		answers ? [make('div', { class: 'whole', role: 'img', 'aria-label': `${part.toFixed(0)} % of what would have been given` }, bar),
			paragraph(`${part < 10 ? part.toFixed(1) : part.toFixed(0)} % of the ${bytes(would)} that the model would have been given.`)] : null,
		smallTable('What was saved', [
			{ title: 'Answered with', cell: row => row[0] },
			{ title: 'Times', class: 'number', cell: row => number(row[1]) },
			{ title: 'Bytes', class: 'number', cell: row => (row[2] === null ? '' : number(row[2])) },
		], [
			['a notice in place of a file', saved.notices, saved.notice_bytes], ['what changed in place of a file', saved.diffs, saved.diff_bytes],
			['a notice in place of a command’s output', saved.commands, saved.command_bytes],
			['the file after all, because the model asked again', saved.yielded, null],
			['the whole file, the first time', saved.given, saved.given_bytes],
		])));
}

/* Hits by what the rules do. */
function ruleCounts(rules) {
	const { log = 0, warn = 0, fail = 0, deny = 0 } = rules || {};
	return { hits: log + warn + fail + deny, logged: log, warned: warn, failed: fail, denied: deny };
}

function fillRules(report) {
	const rules = report.rules || {}, rows = rules.rows || [], { hits, logged, warned, failed, denied } = ruleCounts(rules);
	if (!hits) {
		replace($('rules-body'), box('plainly', paragraph(strong('No rule applied'), ' to what was seen.')));
		return 0;
	}
	const counts = [[denied, 'denied'], [failed, 'made the run fail'], [warned, 'warned of'], [logged, 'logged']];
	replace($('rules-body'), box(denied || failed ? 'bad' : warned ? 'warn' : 'plainly',
		paragraph(strong(plural(hits, 'hit')), ': ', counts.filter(([times]) => times).map(([times, what]) => `${number(times)} ${what}`).join(', '),
			'. Rules guard programs that cooperate; they are no security boundary.'),
		longTable('rules-table', 'Rule hits', ['rule', 'rules'], [
			{ title: 'Rule', cell: row => [kindDot(KIND.rule), named(shown(row.rule))] },
			{ title: 'Does', cell: row => shown(row.action) },
			{ title: 'Accesses', cell: row => (row.accesses || []).map(shown).join(', ') },
			{ title: 'Hits', isNumber: true, value: row => row.count, cell: row => number(row.count) },
			{ title: 'First', class: 'tight', cell: row => shortTime(row.first) },
			{ title: 'Files, some of them', class: 'wide', cell: row => (row.paths || []).map((path, i) => [i ? ', ' : '', long(shown(path), 80)]) },
		], rows, rows.length),
		rules.left_out ? paragraph(`${plural(rules.left_out, 'hit')} of further rules are not told apart.`) : null));
	return denied || failed || warned;
}

function fillInstructions(report) {
	const instructions = report.instructions;
	if (!instructions) {
		replace($('instructions-body'), box('plainly', paragraph('Not known: that takes the session, and there is only its journal.')));
		return;
	}
	const rows = instructions.never_given || [];
	replace($('instructions-body'), box(rows.length ? 'warn' : instructions.applied ? '' : 'plainly',
		instructions.applied ? paragraph(strong(`${number(rows.length)} of ${plural(instructions.applied, 'instruction file')}`),
			` that apply to what was touched ${rows.length === 1 ? 'was' : 'were'} never given to an agent.`)
			: paragraph(strong('No instruction files'), ' apply to what was touched.'),
		instructions.cut ? paragraph('There were too many directories to inspect all.') : null,
		rows.length ? longTable('instructions-table', 'Instruction files that were never given', ['file', 'files'], [
			{ title: 'Never given', cell: row => long(shown(row.path)) },
			{ title: 'Touches', class: 'number', cell: row => number(row.touches) },
			{ title: 'First', cell: row => long(shown(row.first)) },
		], rows, rows.length) : null));
}

function fillSeal(report) {
	const seal = report.seal;
	const states = {
		intact: ['', 'Intact.', 'What was sealed at the end of the run is what the journal holds.'],
		tampered: ['bad', 'Not what was sealed.', 'The journal was changed after the seal was made: seen verify says where.'],
		no_seal: ['plainly', 'Not sealed.', 'A seal is made at the end of seen run; without one it cannot be known whether the journal was changed.'],
	};
	const [kind, title, text] = states[seal && seal.verdict] || ['warn', 'Not known.', 'The journal could not be held against its seal.'];
	replace($('seal-body'), box(kind, paragraph(strong(title), ' ', text),
		seal && seal.digest ? [paragraph('Digest ', named(shown(seal.digest))),
			paragraph(`${plural(seal.records || 0, 'record')} sealed`, seal.not_sealed ? `, ${number(seal.not_sealed)} behind the seal` : '',
				'. With the digest that the run printed, kept elsewhere, seen verify --digest tells whether both were replaced.')] : null));
	return seal && seal.verdict === 'tampered';
}

/* ---- what it did, what it ran ---- */

function fillDeeds(report) {
	const changes = report.changes || {}, commands = report.commands || {};
	const rows = changes.rows || [], ran = commands.rows || [];
	const written = row => (row.fate === 'removed' ? '' : row.written_more && !row.bytes_written ? 'not known' : bytes(row.bytes_written));
	replace($('deeds-body'), [
		rows.length ? longTable('deeds-table', 'What the session did to files', ['file', 'files'], [
			{ title: 'File', cell: row => long(shown(row.path)) },
			{ title: 'What', class: 'tight', cell: row => shown(row.fate) },
			{ title: 'Written', class: 'number', cell: written },
			{ title: 'By', class: 'wide', cell: row => (row.command ? named(shown(row.command)) : '–') },
		], rows, changes.count) : paragraph('No file was changed.'),
		changes.git ? paragraph(`${plural(changes.git, 'file')} of .git`) : null,
		changes.agent_state ? paragraph(`${plural(changes.agent_state, 'file')} of the agent’s own state`) : null,
		ran.length ? longTable('commands-table', 'What the session ran', ['command', 'commands'], [
			{ title: 'Command', cell: row => long(shown(row.command)) },
			{ title: 'When', class: 'tight', cell: row => shortTime(row.time) },
		], ran, commands.count) : null,
		stepsOf(report), blameOf()]);
}

/* ---- all ---- */

function fillSections(report) {
	fillHead(report);
	const flags = { coverage: fillCoverage(report), conflicts: fillConflicts(report), rules: fillRules(report), seal: fillSeal(report) };
	fillFigures(report);
	fillDeeds(report);
	fillBalance(report);
	fillSaved(report);
	fillInstructions(report);
	const titles = { coverage: 'Coverage', timeline: 'Timeline', files: 'Files', balance: 'Reads and writes', conflicts: 'Conflicts', saved: 'Saved',
		rules: 'Rules', instructions: 'Instructions', processes: 'Processes', events: 'Events', seal: 'Seal' };
	replace($('contents'), Object.entries(titles).map(([id, title]) => make('li', null, make('a', { href: `#${id}` }, title,
		flags[id] ? make('span', { class: 'flag', title: 'to be checked' }, ' •', make('span', { class: 'unseen' }, ' to be checked')) : null))));
}
