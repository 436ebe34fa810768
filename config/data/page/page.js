/* Theme, keys, and the beginning. */

const KEYS = [
	['Everywhere', [
		[['?'], 'this list'],
		[['Esc'], 'close it; leave the details; take the marks from a file; select nothing'],
		[['Tab'], 'on to the next part'],
		[['1', '…', '9'], 'to a section'],
		[['/'], 'to the filter of files'],
	]],
	['In the timeline', [
		[['↑', '↓'], 'another row; PageUp, PageDown: ten; Home, End: the first, the last'],
		[['←', '→'], 'the event before, after, in that row'],
		[['n', 'p'], 'the next, the previous notice, conflict or rule in any row'],
		[['+', '−'], 'zoom in, out; 0: all'],
		[['Shift', '←', '→'], 'move in time'],
		[['Space'], 'fold a row, or unfold it'],
		[['f'], 'the time in which the row was active'],
		[['Enter'], 'to the details of what is selected'],
	]],
	['In tables', [
		[['↑', '↓'], 'another row; Home, End: the first, the last'],
		[['PageUp', 'PageDown'], 'another page'],
		[['Enter'], 'show it in the timeline'],
	]],
];

const say = text => {
	$('said').textContent = text;
};

function fillKeys() {
	const caps = keys => keys.map(key => [key === '…' ? key : make('kbd', null, key), ' ']);
	replace($('keys-body'), KEYS.map(([title, entries]) => [make('h3', null, title),
		make('dl', null, entries.map(([keys, text]) => [make('dt', null, caps(keys)), make('dd', null, text)]))]));
	$('keys-open').addEventListener('click', () => $('keys').showModal());
}

function setTheme(value) {
	if (value === 'system')
		document.documentElement.removeAttribute('data-theme');
	else
		document.documentElement.dataset.theme = value;
	recolour();
}

function recolour() {
	readColours();
	drawKinds();
	redraw();
}

function listenToPage() {
	for (const radio of document.querySelectorAll('input[name="theme"]'))
		radio.addEventListener('change', () => setTheme(radio.value));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
	addEventListener('beforeprint', () => {
		document.documentElement.dataset.theme = 'light';
		readColours();
		if (timeline.ready)
			draw();
	});
	addEventListener('afterprint', () => setTheme(document.querySelector('input[name="theme"]:checked').value));
	document.addEventListener('keydown', key => {
		const isText = key.target.matches && key.target.matches('input[type="search"]');
		if (key.ctrlKey || key.metaKey || key.altKey || $('keys').open)
			return;
		if (key.key === 'Escape') {
			escape(key);
		} else if (isText) {
			return;
		} else if (key.key === '?') {
			key.preventDefault();
			$('keys').showModal();
		} else if (key.key === '/') {
			key.preventDefault();
			goTo('files');
			$('files-table').querySelector('input').focus();
		} else if (/^[1-9]$/.test(key.key) && key.target.type !== 'radio') {
			const link = $('contents').querySelectorAll('a')[Number(key.key) - 1];
			if (link)
				goTo(link.hash.slice(1));
		}
	});
}

/* A section, by keys: the page goes there, and so does what Tab goes on from. */
function goTo(id) {
	const section = $(id), title = section.querySelector('h2');
	section.scrollIntoView();
	title.tabIndex = -1;
	title.focus({ preventScroll: true });
}

function escape(key) {
	if (key.target.matches('input[type="search"]') && key.target.value)
		return; /* it empties itself */
	if ($('detail').contains(document.activeElement)) {
		$('rows').focus();
	} else if (timeline.rings.length || timeline.event >= 0) {
		chooseFile(0);
		choose(timeline.row);
		say('Nothing is selected');
	}
}

/* ---- the timeline's tools ---- */

function drawKinds() {
	for (const canvas of $('kinds').querySelectorAll('canvas')) {
		const kind = Number(canvas.dataset.kind), scale = fit(canvas, 14, 14), context = canvas.getContext('2d');
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, 14, 14);
		if (SIGNS.includes(kind)) {
			sign(context, kind, 7, 7, 5);
			continue;
		}
		context.fillStyle = COLOURS[KINDS[kind].name];
		const [y, h] = { [KIND.read]: [1, 7], [KIND.write]: [7, 7], [KIND.failed]: [1, 3], [KIND.process]: [2, 10], [KIND.note]: [5, 4] }[kind];
		for (const x of kind === KIND.process || kind === KIND.note ? [6] : [2, 6, 10])
			context.fillRect(x, y, 2, h);
	}
}

function fillKinds() {
	const counts = KINDS.map((kind, i) => lanes.all[i].events.length);
	const flip = (button, kind) => {
		const isHidden = timeline.hidden.has(kind);
		timeline.hidden[isHidden ? 'delete' : 'add'](kind);
		button.setAttribute('aria-pressed', String(isHidden));
		redraw();
	};
	const button = (kind, i) => make('button', { type: 'button', 'aria-pressed': 'true', title: kind.text, click: click => flip(click.currentTarget, i) },
		make('canvas', { 'data-kind': i, 'aria-hidden': 'true' }), kind.title, make('small', null, number(counts[i])));
	replace($('kinds'), KINDS.map((kind, i) => (counts[i] ? button(kind, i) : null)));
	drawKinds();
}

function listenToTools() {
	$('zoom-in').addEventListener('click', () => zoom(0.5));
	$('zoom-out').addEventListener('click', () => zoom(2));
	$('zoom-all').addEventListener('click', lookAll);
	$('fold').addEventListener('click', () => foldAll(foldDepth()));
	$('unfold').addEventListener('click', () => foldAll(Infinity));
	$('only-active').addEventListener('change', change => {
		timeline.onlyActive = change.target.checked;
		listRows();
		redraw();
	});
}

/* ---- the beginning ---- */

const ROWS_UNFOLDED = 60; /* more are folded at first */

/* What agents started stays in view, what that started is folded. */
function foldDepth() {
	const agents = data.rows.slice(0, 1000).filter(row => data.roles[row.role] === 'agent');
	return 1 + Math.max(0, ...agents.map(row => row.depth));
}

async function begin() {
	const report = JSON.parse($('report').textContent), words = JSON.parse($('words').textContent);
	readColours();
	fillKeys();
	listenToPage();
	fillSections(report);
	await pause();
	await readData(words, part => {
		$('progress').value = part * 0.8;
	});
	await buildLanes();
	timeline.ready = true;
	$('loading').hidden = true;
	fillKinds();
	listenToTools();
	listenToPlot();
	$('left-out').hidden = !data.leftOut;
	$('left-out').textContent = `${plural(data.leftOut, 'later event')} not in this page, which would be too large: seen log has all.`;
	measure();
	lookAll();
	foldAll(data.rows.length > ROWS_UNFOLDED ? foldDepth() : Infinity);
	choose(0);
	await pause();
	fillTables();
	document.documentElement.dataset.ready = 'yes';
}

begin();
