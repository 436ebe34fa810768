/* What is said of a process, an event, or a file that was selected; and the tables of files, processes and events. */

const timeOf = event => data.time[event] - data.from;
const at = us => (us === 0 ? '0 s' : us < 1e6 ? duration(us) : us < 6e7 ? `${(us / 1e6).toFixed(3)} s` : duration(us));
const wall = us => clock(data.firstMs + us / 1000, 3);

function resultOf(event) {
	const error = data.error[event];
	if (error)
		return data.errors[error] || `errno ${error}`;
	return data.marks[event] & MARK.ATTEMPTED ? 'tried' : data.ops[data.op[event]] === 'damaged' ? 'damaged' : 'ok';
}

function amountOf(event) {
	if (!(data.marks[event] & MARK.AMOUNT) && data.ops[data.op[event]] !== 'exit')
		return '';
	const amount = data.amount[event], more = data.marks[event] & MARK.AT_LEAST ? ' or more' : '';
	return data.ops[data.op[event]] === 'exit' ? `status ${amount}` : `${number(amount)} bytes${more}`;
}

const detailsOf = event => [amountOf(event), texts.get(data.details[event])].filter(Boolean).join(' ');
const kindDot = kind => make('span', { class: `dot kind-${KINDS[kind].name}`, 'aria-hidden': 'true' });

function list(entries) {
	return make('dl', null, entries.filter(entry => entry && entry[1] !== '' && entry[1] !== null)
		.map(([title, value]) => [make('dt', null, title), make('dd', null, ...[value].flat(2))]));
}

const action = (title, does) => make('button', { type: 'button', class: 'plain', click: does }, title);

function showDetail() {
	const { row: place, event } = timeline, row = data.rows[data.placed[place]];
	if (!row)
		return;
	const parts = event >= 0 ? eventDetail(event) : [];
	replace($('detail'), [...parts, ...rowDetail(row, place)]);
	say(event >= 0 ? `${data.ops[data.op[event]]} ${texts.get(data.path[event]).slice(-120)}, ${resultOf(event)}, at ${at(timeOf(event))}`
		: `${programName(row)}, ${row.pid ? 'pid ' + row.pid + ', ' : ''}${plural(row.counts.reduce((a, b) => a + b, 0), 'event')}` +
			(row.size > 1 ? `, ${plural(row.size - 1, 'process', 'processes')} below${isFolded(place) ? ', folded' : ''}` : ''));
}

function eventDetail(event) {
	const path = texts.get(data.path[event]), kind = data.kind[event];
	return [
		make('h3', null, kindDot(kind), data.ops[data.op[event]]),
		path ? make('p', { class: 'long' }, named(path)) : null,
		list([
			['Result', resultOf(event)],
			['Says', detailsOf(event)],
			['At', at(timeOf(event))],
			['Time', wall(data.time[event]) + ' UTC'],
			['Source', data.marks[event] & MARK.BY_OTHERS ? 'an external program' : ''],
			['Record', number(data.record[event])],
		]),
		make('div', { class: 'buttons' }, action('← Before', () => moveEvent(-1)), action('After →', () => moveEvent(1)),
			data.path[event] ? action('All accesses', () => showFile(data.path[event])) : null),
	];
}

function rowDetail(row, place) {
	const role = data.roles[row.role], below = row.size - 1;
	const told = (kind, i) => make('span', null, kindDot(i), `${number(row.counts[i])} ${kind.title.toLowerCase()} `);
	const counts = KINDS.map((kind, i) => (row.counts[i] ? told(kind, i) : null));
	const programs = row.then.map(([name, args]) => make('div', null, named(`${texts.get(name)} ${brief(texts.get(args), 80)}`)));
	return [
		make('h3', null, named(programName(row))),
		row.args ? make('p', { class: 'long' }, named(texts.get(row.args))) : null,
		list([
			['Program', row.name ? named(texts.get(row.name)) : ''],
			['Then', programs.length ? programs : null],
			['Process', row.pid ? `${row.pid}${role ? ', ' + role : ''}` : 'not one of the session, or not known'],
			['From', at(row.start - data.from)],
			['Lasted', isNaN(row.end) ? 'its end was not recorded' : duration(row.end - row.start)],
			['Status', isNaN(row.status) ? '' : String(row.status)],
			['Read', row.readBytes ? bytes(row.readBytes) : ''],
			['Written', row.writeBytes ? bytes(row.writeBytes) : ''],
			['Events', counts.some(Boolean) ? make('span', null, counts) : 'none'],
			['Below it', below ? plural(below, 'process', 'processes') : ''],
			['Not seen', [row.partial ? 'part of what it does' : '', row.pid && !row.attached ? 'who started it' : ''].filter(Boolean).join('; ')],
		]),
		make('div', { class: 'buttons' }, action('Zoom to it', () => lookAtRow(place)),
			below ? action(isFolded(place) ? 'Unfold' : 'Fold', () => {
				fold(place, !timeline.collapsed.has(place));
				showDetail();
			}) : null,
			action('Its events', () => {
				eventsOf(row);
				goTo('events');
			})),
	];
}

/* Marks all accesses of a file, and lists the first of them. */
async function showFile(path) {
	const rings = await chooseFile(path), LISTED = 40, all = `${rings.length >= RINGS_MAX ? 'More than ' : ''}${plural(rings.length, 'event')}`;
	const entry = event => make('li', null, make('button', { type: 'button', click: () => chooseEvent(event) },
		kindDot(data.kind[event]), `${at(timeOf(event))} ${data.ops[data.op[event]]} `,
		make('span', { class: 'faint' }, 'by ' + programName(data.rows[data.row[event]]))));
	replace($('detail'), [
		make('h3', null, 'A file'),
		make('p', { class: 'long' }, named(texts.get(path))),
		make('p', null, rings.length ? `${all}, ringed in the timeline${rings.length > LISTED ? `; the first ${LISTED}:` : ':'}`
			: 'No event of it is in this page.'),
		make('ol', null, rings.slice(0, LISTED).map(entry)),
		make('div', { class: 'buttons' }, action('Take the marks away', () => {
			chooseFile(0);
			showDetail();
		})),
	]);
	say(`${texts.get(path).slice(-120)}: ${plural(rings.length, 'event')}`);
	return rings;
}

/* ---- tables ---- */

const count = value => (value ? number(value) : make('span', { class: 'zero' }, '0'));
const size = value => (value ? make('span', { title: `${number(value)} bytes` }, bytes(value)) : make('span', { class: 'zero' }, '0'));
const long = (text, length) => named(brief(text, length || 160), text.length > (length || 160) ? { title: text.slice(0, 2000) } : null);

let eventsTable;

function fillTables() {
	const file = (title, name, cell) => ({ title, isNumber: true, value: id => data.files[id][name], cell: id => cell(data.files[id][name]) });
	const ids = data.files.map((entry, id) => id);
	new Table($('files-table'), {
		label: 'Files', noun: ['file', 'files'], ids, hint: 'part of a path', sort: [1, 'down'],
		columns: [
			{ title: 'File', value: id => texts.get(data.files[id].path), cell: id => long(texts.get(data.files[id].path)) },
			file('Read', 'bytesRead', size), file('Opened', 'opensRead', count), file('Repeats', 'repeats', count), file('Notices', 'notices', count),
			file('Saved', 'bytesSaved', size), file('Written', 'bytesWritten', size), file('Changes', 'changes', count), file('By others', 'changed', count),
		],
		find: findInTexts(id => [data.files[id].path]),
		open: async id => {
			const rings = await showFile(data.files[id].path);
			$('timeline').scrollIntoView();
			$('detail').focus({ preventScroll: true });
			if (rings.length)
				bring(data.time[rings[0]], data.rows[data.row[rings[0]]].place);
		},
	});
	const process = (title, value, cell) => ({ title, isNumber: true, value: id => value(data.rows[id]), cell: id => cell(value(data.rows[id])) });
	new Table($('processes-table'), {
		label: 'Processes', noun: ['process', 'processes'], ids: data.placed, hint: 'program or arguments',
		columns: [
			{ title: 'Program', value: id => programName(data.rows[id]), cell: id => [named(programName(data.rows[id])), ' ',
				make('span', { class: 'faint cut' }, long(argsText(data.rows[id]), 140))] },
			{ title: 'Pid', isNumber: true, value: id => data.rows[id].pid, cell: id => String(data.rows[id].pid || '–') },
			{ title: 'Role', value: id => data.roles[data.rows[id].role] || '', cell: id => data.roles[data.rows[id].role] || '–' },
			process('From', row => row.start - data.from, at),
			process('Lasted', row => (isNaN(row.end) ? -1 : row.end - row.start), value => (value < 0 ? '–' : duration(value))),
			process('Reads', row => row.counts[KIND.read], count), process('Writes', row => row.counts[KIND.write], count),
			process('Failed', row => row.counts[KIND.failed], count), process('Saved', row => row.counts[KIND.saved], count),
		],
		find: findInTexts(id => [data.rows[id].name, data.rows[id].args]),
		open: id => {
			$('timeline').scrollIntoView();
			$('rows').focus({ preventScroll: true });
			bring(data.rows[id].start, data.rows[id].place);
			choose(data.rows[id].place);
		},
	});
	eventsTable = new Table($('events-table'), {
		label: 'Events', noun: ['event', 'events'], ids: lanes.order, hint: 'op, result, path, program',
		columns: [
			{ title: 'At', cell: event => make('span', { title: wall(data.time[event]) + ' UTC' }, at(timeOf(event))) },
			{ title: 'Process', cell: event => named(brief(programName(data.rows[data.row[event]]), 40)) },
			{ title: 'Event', cell: event => [kindDot(data.kind[event]), data.ops[data.op[event]]] },
			{ title: 'Result', cell: resultOf },
			{ title: 'Path', cell: event => long(texts.get(data.path[event]), 120) },
			{ title: 'Says', cell: event => long(detailsOf(event), 80) },
		],
		find: findInTexts(event => [data.ops[data.op[event]], resultOf(event), data.path[event], data.details[event],
			data.rows[data.row[event]].name]),
		open: event => {
			$('timeline').scrollIntoView();
			$('rows').focus({ preventScroll: true });
			chooseEvent(event);
		},
	});
}

/* The table of events for one process alone, with those below it where it is folded; null: for all. */
async function eventsOf(row) {
	eventsTable.ids = row ? await eventsBetween(row.place, row.place + (isFolded(row.place) ? row.size : 1), new Slice()) : lanes.order;
	replace($('events-hint'), row ? ['Those of ', named(programName(row)), ` (${row.pid}). `, action('All events', () => eventsOf(null))]
		: 'In the order of their times.');
	eventsTable.update();
}
