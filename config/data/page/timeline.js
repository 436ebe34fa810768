/*
 * The timeline: a row for each process, in a tree; reads rise from its middle, writes hang down, the more of them in a pixel the
 * longer; what is seldom has a sign of its own.  Marks are put into a buffer of pixels, which takes the same time however many
 * there are; names and signs are drawn on top.
 */

const LABEL_SHARE = 0.33;
const ROW = { height: 26, middle: 13 }, ROW_NARROW = { height: 38, middle: 26 }; /* narrow: the name above the marks */
const HALF = 10; /* pixels that marks rise and hang at most */
const AXIS_HEIGHT = 28, OVERVIEW_HEIGHT = 56;
const BIN = 2, SIGN_BIN = 11;       /* pixels that marks, and signs, are put together over */
const NARROW = 600, LABEL_WIDTH = 310;
const SPAN_LEAST = 20;              /* microseconds in view, at least */
const RINGS_MAX = 20000;
const SIGNS = [KIND.saved, KIND.conflict, KIND.rule];
const TICKS = [KIND.process, KIND.note, KIND.failed, KIND.read, KIND.write];

const timeline = {
	view: { from: 0, to: 1 },
	shown: [], isShown: null,        /* places of the rows, and where each is among them */
	collapsed: new Set(), onlyActive: true,
	hidden: new Set(),               /* kinds */
	row: 0, event: -1, rings: [],    /* selected: place, event; events of one file */
	ready: false, wantsDraw: false, width: 0, height: 0, label: LABEL_WIDTH, buffer: null,
	rowHeight: ROW.height, middle: ROW.middle,
};

/* ---- colours: the style's, asked for when it changes ---- */

const COLOURS = {};

function readColours() {
	const probe = make('span', { class: 'probe' });
	document.body.append(probe);
	for (const name of ['surface', 'stripe', 'chosen', 'life', 'ink', 'muted', 'line', 'accent', ...KINDS.map(kind => kind.name)]) {
		probe.style.color = `var(--${name})`;
		const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
		COLOURS[name] = `rgb(${r}, ${g}, ${b})`;
		COLOURS[name + '32'] = (255 << 24 | Math.round(b) << 16 | Math.round(g) << 8 | Math.round(r)) >>> 0;
	}
	probe.remove();
	COLOURS.font = getComputedStyle(document.body).fontFamily;
}

/* ---- which rows ---- */

function listRows() {
	const { view, collapsed } = timeline, rows = data.rows, anchor = topRow();
	const shown = [];
	for (let place = 0; place < rows.length;) {
		const row = rows[data.placed[place]];
		if (timeline.onlyActive && (row.allFrom > view.to || row.allTo < view.from)) {
			place += row.size; /* nothing below it is active either */
			continue;
		}
		shown.push(place);
		place += collapsed.has(place) ? row.size : 1;
	}
	timeline.shown = shown;
	$('rows-space').style.height = `${Math.min(shown.length * timeline.rowHeight + AXIS_HEIGHT + 8, 3e7)}px`;
	if (anchor) {
		const at = shownAt(anchor.place);
		if (shown[at] === anchor.place)
			$('rows').scrollTop = at * timeline.rowHeight - anchor.offset;
	}
}

/* Where among the rows that are shown a place is, or what it would stand behind. */
const shownAt = place => firstFrom(timeline.shown, place);

/* The row that stands for a place: itself, or what it is folded into. */
function shownFor(place) {
	const at = shownAt(place);
	return timeline.shown[at] === place ? at : at - 1;
}

function topRow() {
	const top = $('rows').scrollTop, at = Math.floor(top / timeline.rowHeight), chosen = shownAt(timeline.row);
	/* The selected row stays where it is, if it can be seen; else the first. */
	const inView = timeline.shown[chosen] === timeline.row && chosen >= at &&
		chosen * timeline.rowHeight < top + timeline.height - AXIS_HEIGHT;
	const index = inView ? chosen : at;
	return index < timeline.shown.length ? { place: timeline.shown[index], offset: index * timeline.rowHeight - top } : null;
}

const isFolded = place => timeline.collapsed.has(place) && data.rows[data.placed[place]].size > 1;

function lanesOf(place) {
	return isFolded(place) ? lanesBelow(place, redraw) : ownLanes(place);
}

/* ---- drawing ---- */

function redraw() {
	if (!timeline.ready || timeline.wantsDraw)
		return;
	timeline.wantsDraw = true;
	requestAnimationFrame(() => {
		timeline.wantsDraw = false;
		draw();
	});
}

/* Sizes a canvas to what it covers, in pixels of the screen. */
function fit(canvas, width, height) {
	const scale = Math.min(window.devicePixelRatio || 1, 3);
	const wide = Math.max(1, Math.round(width * scale)), high = Math.max(1, Math.round(height * scale));
	if (canvas.width !== wide || canvas.height !== high) {
		canvas.width = wide;
		canvas.height = high;
	}
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	return scale;
}

function fill(pixels, width, height, x, y, w, h, colour) {
	const left = Math.max(0, Math.round(x)), right = Math.min(width, Math.round(x + w));
	const top = Math.max(0, Math.round(y)), bottom = Math.min(height, Math.round(y + h));
	if (left < right)
		for (let row = top; row < bottom; row++)
			pixels.fill(colour, row * width + left, row * width + right);
}

const toX = (time, width) => (time - timeline.view.from) / (timeline.view.to - timeline.view.from) * width;
const toTime = x => timeline.view.from + (x - timeline.label) / (timeline.width - timeline.label) * (timeline.view.to - timeline.view.from);
const strength = count => Math.min(1, 0.36 + 0.1 * Math.log2(count));

/* What depends on how wide the frame is. */
function measure() {
	const frame = $('rows'), width = frame.clientWidth, isNarrow = width < NARROW, row = isNarrow ? ROW_NARROW : ROW;
	const label = isNarrow ? 0 : Math.min(LABEL_WIDTH, Math.round(width * LABEL_SHARE)), isOther = row.height !== timeline.rowHeight;
	Object.assign(timeline, { width, height: frame.clientHeight, label, rowHeight: row.height, middle: row.middle });
	if (isOther)
		listRows();
}

function draw() {
	const frame = $('rows'), canvas = $('picture');
	measure();
	const { width, height } = timeline;
	if (!width || !height)
		return;
	const scale = fit(canvas, width, height), context = canvas.getContext('2d', { alpha: false });
	const plot = width - timeline.label, wide = Math.round(plot * scale), high = canvas.height;
	if (!timeline.buffer || timeline.buffer.width !== wide || timeline.buffer.height !== high)
		timeline.buffer = context.createImageData(wide, high);
	const pixels = new Uint32Array(timeline.buffer.data.buffer);
	const first = Math.max(0, Math.floor(frame.scrollTop / timeline.rowHeight));
	const last = Math.min(timeline.shown.length, Math.ceil((frame.scrollTop + height - AXIS_HEIGHT) / timeline.rowHeight));
	const top = index => AXIS_HEIGHT + index * timeline.rowHeight - frame.scrollTop;
	const signs = [];

	pixels.fill(COLOURS.surface32);
	for (let index = first; index < last; index++) {
		const place = timeline.shown[index], row = data.rows[data.placed[place]], y = top(index);
		const rowLanes = lanesOf(place);
		drawRow(pixels, wide, high, scale, row, y, place === timeline.row, rowLanes, plot);
		for (const kind of SIGNS)
			if (rowLanes && !timeline.hidden.has(kind))
				eachBin(rowLanes[kind].times, timeline.view.from, timeline.view.to, Math.ceil(plot / SIGN_BIN), (bin, count, at) =>
					signs.push(kind, timeline.label + toX(rowLanes[kind].times[at], plot), y + timeline.middle));
	}
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.fillStyle = COLOURS.surface;
	context.fillRect(0, 0, canvas.width, canvas.height);
	context.putImageData(timeline.buffer, canvas.width - wide, 0);
	context.setTransform(scale, 0, 0, scale, 0, 0);
	for (let i = 0; i < signs.length; i += 3)
		sign(context, signs[i], signs[i + 1], signs[i + 2], 4.5);
	drawRings(context, plot, first, last, top);
	for (let index = first; index < last; index++)
		drawLabel(context, timeline.shown[index], top(index));
	if (timeline.label) {
		context.fillStyle = COLOURS.line;
		context.fillRect(timeline.label - 1, 0, 1, height);
	}
	drawAxis(context, width, plot, height);
	drawOverview();
}

function drawRow(pixels, wide, high, scale, row, y, isChosen, rowLanes, plot) {
	const { from, to } = timeline.view, middle = y + timeline.middle, half = HALF;
	const put = (x, py, w, h, colour) => fill(pixels, wide, high, x * scale, py * scale, w * scale, h * scale, colour);
	if (isChosen)
		put(0, y, plot, timeline.rowHeight, COLOURS.chosen32);
	put(0, y + timeline.rowHeight - 1, plot, 1 / scale, COLOURS.stripe32);
	const end = isNaN(row.end) ? row.allTo : row.end, left = Math.max(-1, toX(row.start, plot));
	if (row.pid)
		put(left, middle - 3, Math.max(2, Math.min(plot + 1, toX(end, plot)) - left), 6, COLOURS.life32);
	if (!rowLanes)
		return;
	const bins = Math.ceil(plot / BIN);
	for (const kind of TICKS) {
		if (timeline.hidden.has(kind))
			continue;
		const colour = COLOURS[KINDS[kind].name + '32'];
		eachBin(rowLanes[kind].times, from, to, bins, (bin, count) => {
			const length = half * strength(count), x = bin * BIN;
			if (kind === KIND.read)
				put(x, middle - length, BIN, length, colour);
			else if (kind === KIND.write)
				put(x, middle, BIN, length, colour);
			else if (kind === KIND.failed)
				put(x, middle - half, BIN, 3, colour);
			else
				put(x, middle - 2.5, BIN, 5, colour);
		});
	}
}

/* Each its own shape: no colour alone tells them apart. */
function sign(context, kind, x, y, size) {
	context.beginPath();
	if (kind === KIND.saved) {
		context.arc(x, y, size * 0.9, 0, 2 * Math.PI);
	} else if (kind === KIND.conflict) {
		context.moveTo(x, y - size * 1.15);
		context.lineTo(x + size * 1.15, y);
		context.lineTo(x, y + size * 1.15);
		context.lineTo(x - size * 1.15, y);
		context.closePath();
	} else {
		context.moveTo(x, y - size);
		context.lineTo(x + size * 1.05, y + size * 0.8);
		context.lineTo(x - size * 1.05, y + size * 0.8);
		context.closePath();
	}
	context.fillStyle = COLOURS[KINDS[kind].name];
	context.strokeStyle = COLOURS.surface;
	context.lineWidth = 1.5;
	context.fill();
	context.stroke();
}

/* Around the accesses of the file that was chosen, and the event. */
function drawRings(context, plot, first, last, top) {
	const drawn = new Set();
	context.strokeStyle = COLOURS.ink;
	context.lineWidth = 1.5;
	for (const event of timeline.rings) {
		const x = toX(data.time[event], plot), index = shownFor(data.rows[data.row[event]].place);
		const bin = index * 65536 + Math.floor(x / 4);
		if (x < 0 || x > plot || index < first || index >= last || drawn.has(bin))
			continue;
		drawn.add(bin);
		context.beginPath();
		context.arc(timeline.label + x, top(index) + timeline.middle, 6.5, 0, 2 * Math.PI);
		context.stroke();
	}
	if (timeline.event >= 0) {
		const x = timeline.label + toX(data.time[timeline.event], plot), index = shownFor(data.rows[data.row[timeline.event]].place);
		if (x >= timeline.label) {
			context.fillStyle = COLOURS.accent;
			context.fillRect(x - 0.75, AXIS_HEIGHT, 1.5, timeline.height);
			if (index >= first && index < last) {
				context.strokeStyle = COLOURS.accent;
				context.lineWidth = 2.5;
				context.beginPath();
				context.arc(x, top(index) + timeline.middle, 9, 0, 2 * Math.PI);
				context.stroke();
			}
		}
	}
}

const fileName = index => texts.get(index).split('/').pop();

/* Arguments; of a shell's command, the command. */
const argsText = row => texts.get(row.args).replace(/^-l?c /, '');

/* What a row is called: its program, and those that it became. */
function programName(row) {
	if (!row.name)
		return row.pid ? 'not known' : 'external, or not known';
	return [row.name, ...row.then.map(([name]) => name).slice(-1)].map(fileName).join(row.then.length > 1 ? ' → … → ' : ' → ');
}

function drawLabel(context, place, y) {
	const row = data.rows[data.placed[place]], isOver = timeline.label === 0;
	const indent = 10 + Math.min(row.depth, 9) * 12, right = isOver ? timeline.width - 6 : timeline.label - 8;
	if (!isOver && place === timeline.row) {
		context.fillStyle = COLOURS.chosen;
		context.fillRect(0, y, timeline.label, timeline.rowHeight);
	}
	context.save();
	context.beginPath();
	context.rect(0, Math.max(y, AXIS_HEIGHT), right, timeline.rowHeight);
	context.clip();
	context.font = `${isOver ? 11.5 : 12.5}px ${COLOURS.font}`;
	context.textBaseline = 'middle';
	const middle = isOver ? y + 9 : y + timeline.middle;
	if (row.size > 1) {
		context.fillStyle = COLOURS.muted;
		context.beginPath();
		if (isFolded(place)) {
			context.moveTo(indent, middle - 4);
			context.lineTo(indent + 5, middle);
			context.lineTo(indent, middle + 4);
		} else {
			context.moveTo(indent - 1.5, middle - 2.5);
			context.lineTo(indent + 6.5, middle - 2.5);
			context.lineTo(indent + 2.5, middle + 3);
		}
		context.fill();
	}
	const name = programName(row), x = indent + 12;
	context.fillStyle = COLOURS.ink;
	context.fillText(brief(name, 60), x, middle);
	const after = x + context.measureText(brief(name, 60)).width + 7;
	const more = (isFolded(place) ? `+${number(row.size - 1)}  ` : '') + argsText(row).slice(0, 200);
	context.fillStyle = COLOURS.muted;
	if (more && after < right)
		context.fillText(more.slice(0, 120), after, middle);
	context.restore();
}

/* A step for some ticks in a span: 1, 2 or 5 times a power of ten, and of minutes and hours what clocks have. */
function tickStep(span, ticks) {
	const rough = span / ticks;
	for (const step of [6e7, 1.2e8, 3e8, 6e8, 9e8, 1.8e9, 3.6e9, 7.2e9, 1.08e10, 2.16e10, 4.32e10, 8.64e10])
		if (rough > 3e7 && step >= rough)
			return step;
	const power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough * 0.999);
}

function tickText(time, step) {
	if (time === 0)
		return '0';
	if (step >= 6e7) {
		const minutes = Math.round(time / 6e7);
		return minutes % 60 === 0 ? `${minutes / 60} h` : minutes > 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60}` : `${minutes} min`;
	}
	const [unit, name] = step >= 1e6 ? [1e6, 's'] : step >= 1e3 ? [1e3, 'ms'] : [1, 'µs'];
	return unit === 1e6 && time >= 6e7 ? `${Math.floor(time / 6e7)}:${String(Math.round(time / 1e6) % 60).padStart(2, '0')}`
		: `${number(Math.round(time / unit))} ${name}`;
}

function drawAxis(context, width, plot, height) {
	const { from, to } = timeline.view, step = tickStep(to - from, Math.max(2, plot / 110));
	context.fillStyle = COLOURS.surface;
	context.fillRect(0, 0, width, AXIS_HEIGHT - 1);
	context.font = `11.5px ${COLOURS.font}`;
	context.textBaseline = 'middle';
	if (timeline.label) {
		context.fillStyle = COLOURS.muted;
		context.fillText(plural(timeline.shown.length, 'row'), 12, AXIS_HEIGHT / 2);
	}
	const begin = Math.ceil((from - data.from) / step);
	for (let i = begin; i < begin + 200; i++) {
		const time = data.from + i * step;
		if (time > to)
			break;
		const x = timeline.label + toX(time, plot), label = tickText(i * step, step);
		context.fillStyle = COLOURS.line;
		context.fillRect(x, AXIS_HEIGHT - 6, 1, 6);
		context.fillStyle = COLOURS.muted;
		if (x + context.measureText(label).width + 4 < width)
			context.fillText(label, x + 4, AXIS_HEIGHT / 2 + 1);
	}
	context.fillStyle = COLOURS.line;
	context.fillRect(0, AXIS_HEIGHT - 1, width, 1);
	context.fillRect(0, height - 1, width, 1);
}

/* All of the session, and what of it is in view. */
function drawOverview() {
	const canvas = $('overview'), width = $('overview-box').clientWidth, height = OVERVIEW_HEIGHT;
	const scale = fit(canvas, width, height), context = canvas.getContext('2d', { alpha: false });
	const span = data.to - data.from || 1, middle = height * 0.55, bins = Math.max(1, Math.ceil(width / 3));
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.fillStyle = COLOURS.surface;
	context.fillRect(0, 0, width, height);
	let most = 1;
	const bars = [KIND.read, KIND.write].map(kind => {
		const heights = new Float64Array(bins);
		eachBin(lanes.all[kind].times, data.from, data.to + 1, bins, (bin, count) => {
			heights[bin] = count;
			most = Math.max(most, count);
		});
		return heights;
	});
	const room = count => (count ? 2 + (middle - 6) * Math.log2(1 + count) / Math.log2(1 + most) : 0);
	context.fillStyle = COLOURS.read;
	for (let bin = 0; bin < bins; bin++)
		context.fillRect(bin * 3, middle - room(bars[0][bin]), 2, room(bars[0][bin]));
	context.fillStyle = COLOURS.write;
	for (let bin = 0; bin < bins; bin++)
		context.fillRect(bin * 3, middle + 1, 2, Math.min(height - middle - 3, room(bars[1][bin])));
	for (const kind of SIGNS)
		eachBin(lanes.all[kind].times, data.from, data.to + 1, Math.max(1, Math.ceil(width / SIGN_BIN)), bin =>
			sign(context, kind, (bin + 0.5) * SIGN_BIN, kind === KIND.conflict ? height - 7 : 7, 3.2));
	const left = (timeline.view.from - data.from) / span * width, right = (timeline.view.to - data.from) / span * width;
	context.globalAlpha = 0.72;
	context.fillStyle = COLOURS.surface;
	context.fillRect(0, 0, Math.max(0, left), height);
	context.fillRect(right, 0, Math.max(0, width - right), height);
	context.globalAlpha = 1;
	context.strokeStyle = COLOURS.accent;
	context.lineWidth = 2;
	context.strokeRect(Math.max(1, left), 1, Math.max(3, Math.min(width - 1, right) - Math.max(1, left)), height - 2);
}
