/*
 * The timeline is moved, and something in it chosen: by mouse, wheel, fingers and keys.
 */

/* ---- moving ---- */

/* Shows from one time to another, as far as there is something. */
function look(from, to) {
	const full = data.to - data.from, margin = full * 0.015;
	let span = Math.max(SPAN_LEAST, Math.min(to - from, full + 2 * margin));
	from = Math.max(data.from - margin, Math.min(from, data.to + margin - span));
	timeline.view = { from, to: from + span };
	if (timeline.onlyActive)
		listRows();
	redraw();
}

const lookAll = () => look(data.from - 1e15, data.to + 1e15);

function zoom(factor, time) {
	const { from, to } = timeline.view, span = to - from;
	const around = time === undefined ? (timeline.event >= 0 && data.time[timeline.event] >= from && data.time[timeline.event] <= to
		? data.time[timeline.event] : (from + to) / 2) : time;
	const next = Math.max(SPAN_LEAST, span * factor);
	look(around - (around - from) * next / span, around - (around - from) * next / span + next);
}

function pan(part) {
	const { from, to } = timeline.view, by = (to - from) * part;
	look(from + by, to + by);
}

/* Brings a time, and a row, into view. */
function bring(time, place) {
	const { from, to } = timeline.view;
	if (time < from || time > to) {
		const span = to - from;
		look(time - span / 2, time + span / 2);
	}
	unfold(place);
	const index = shownFor(place), frame = $('rows'), room = frame.clientHeight - AXIS_HEIGHT;
	if (index * timeline.rowHeight < frame.scrollTop)
		frame.scrollTop = index * timeline.rowHeight;
	else if ((index + 1) * timeline.rowHeight > frame.scrollTop + room)
		frame.scrollTop = (index + 1) * timeline.rowHeight - room + 8;
	redraw();
}

/* Shows a row that is folded away. */
function unfold(place) {
	let changed = false;
	for (let row = data.rows[data.rows[data.placed[place]].parent]; row; row = data.rows[row.parent])
		changed = timeline.collapsed.delete(row.place) || changed;
	if (changed)
		listRows();
}

function fold(place, isToBe) {
	if (data.rows[data.placed[place]].size < 2)
		return;
	if (isToBe)
		timeline.collapsed.add(place);
	else
		timeline.collapsed.delete(place);
	listRows();
	redraw();
}

/* All, or none, or what makes a picture of a large session: below what an agent starts. */
function foldAll(depth) {
	timeline.collapsed.clear();
	for (const row of data.rows)
		if (row.depth >= depth && row.size > 1)
			timeline.collapsed.add(row.place);
	listRows();
	redraw();
}

/* ---- choosing ---- */

function choose(place, event) {
	timeline.row = place;
	timeline.event = event === undefined ? -1 : event;
	showDetail();
	redraw();
}

function chooseEvent(event) {
	const place = data.rows[data.row[event]].place;
	bring(data.time[event], place);
	choose(place, event);
}

/* Rings around all accesses of a file; 0: none. */
const ringTurns = new Turns();
async function chooseFile(path) {
	const run = ringTurns.next(), slice = new Slice(), rings = [];
	for (let i = 0; path && i < data.count && rings.length < RINGS_MAX; i++) {
		const event = lanes.order[i];
		if (data.path[event] === path)
			rings.push(event);
		if (i % STRIDE === 0 && slice.over()) {
			await slice.pause();
			if (run.late)
				return rings;
		}
	}
	timeline.rings = rings;
	redraw();
	return rings;
}

function moveRow(by) {
	const at = shownFor(timeline.row), index = Math.max(0, Math.min(timeline.shown.length - 1, at + by));
	if (timeline.shown[index] === undefined)
		return;
	const row = data.rows[data.placed[timeline.shown[index]]];
	choose(row.place);
	bring(Math.max(row.allFrom, Math.min(timeline.view.from, row.allTo)), row.place);
}

/* The next event in a row's lanes, or of the kinds with signs in all rows. */
function moveEvent(direction, isNotable) {
	const { row, event, view } = timeline;
	const rowLanes = isNotable ? SIGNS.map(kind => lanes.all[kind])
		: (lanesOf(row) || []).filter((lane, kind) => !timeline.hidden.has(kind));
	let next;
	if (event >= 0) {
		next = nextEvent(rowLanes, event, direction);
	} else {
		/* From what is in view. */
		const candidates = rowLanes.map(lane => {
			const at = firstFrom(lane.times, direction > 0 ? view.from : view.to);
			return lane.events[direction > 0 ? at : at - 1];
		}).filter(found => found !== undefined);
		next = candidates.sort((a, b) => (lanes.rank[a] - lanes.rank[b]) * direction)[0];
	}
	if (next === undefined || next < 0)
		say(direction > 0 ? 'No later event' : 'No earlier event');
	else if (isNotable)
		chooseEvent(next);
	else {
		bring(data.time[next], row);
		choose(row, next);
	}
}

const PLOT_KEYS = {
	ArrowUp: () => moveRow(-1),
	ArrowDown: () => moveRow(1),
	PageUp: () => moveRow(-10),
	PageDown: () => moveRow(10),
	Home: () => moveRow(-Infinity),
	End: () => moveRow(Infinity),
	ArrowLeft: key => (key.shiftKey ? pan(-0.25) : moveEvent(-1)),
	ArrowRight: key => (key.shiftKey ? pan(0.25) : moveEvent(1)),
	'+': () => zoom(0.5),
	'=': () => zoom(0.5),
	'-': () => zoom(2),
	0: lookAll,
	n: () => moveEvent(1, true),
	p: () => moveEvent(-1, true),
	f: () => lookAtRow(timeline.row),
	' ': () => fold(timeline.row, !timeline.collapsed.has(timeline.row)),
	Enter: () => $('detail').focus(),
};

function lookAtRow(place) {
	const row = data.rows[data.placed[place]], from = row.allFrom, to = Math.max(row.allTo, from + SPAN_LEAST);
	look(from - (to - from) * 0.05, to + (to - from) * 0.05);
	bring(from, place);
}

/* The event at a point, within some pixels. */
function eventAt(rowLanes, x) {
	const reach = (timeline.view.to - timeline.view.from) / (timeline.width - timeline.label) * 7, time = toTime(x);
	let best = -1, weight = Infinity;
	for (let kind = 0; rowLanes && kind < KINDS.length; kind++) {
		if (timeline.hidden.has(kind))
			continue;
		const lane = rowLanes[kind], at = firstFrom(lane.times, time - reach);
		for (let i = at; i < Math.min(at + 50, lane.times.length) && lane.times[i] <= time + reach; i++) {
			/* A sign stands over the marks. */
			const distance = Math.abs(lane.times[i] - time) * (SIGNS.includes(kind) ? 0.2 : 1);
			if (distance < weight)
				[best, weight] = [lane.events[i], distance];
		}
	}
	return best;
}

function listenToPlot() {
	const frame = $('rows'), pointers = new Map();
	let pressed = null, pinch = 0;
	const at = point => {
		const box = frame.getBoundingClientRect();
		return { x: point.clientX - box.left, y: point.clientY - box.top };
	};
	frame.addEventListener('keydown', key => {
		const does = PLOT_KEYS[key.key];
		if (!does || !data.rows.length || key.ctrlKey || key.metaKey || key.altKey)
			return;
		key.preventDefault();
		does(key);
	});
	frame.addEventListener('scroll', redraw, { passive: true });
	frame.addEventListener('wheel', wheel => {
		const unit = wheel.deltaMode === 1 ? 16 : 1;
		if (wheel.ctrlKey || wheel.metaKey || wheel.altKey) {
			wheel.preventDefault();
			zoom(Math.exp(wheel.deltaY * unit * 0.004), toTime(at(wheel).x));
		} else if (wheel.deltaX || wheel.shiftKey) {
			wheel.preventDefault();
			pan((wheel.deltaX || wheel.deltaY) * unit / Math.max(1, timeline.width - timeline.label));
		}
	}, { passive: false });
	frame.addEventListener('pointerdown', down => {
		if (down.button || down.offsetX > frame.clientWidth)
			return;
		pointers.set(down.pointerId, at(down));
		pressed = { ...at(down), moved: false, view: { ...timeline.view }, top: frame.scrollTop };
		pinch = 0;
	});
	frame.addEventListener('pointermove', move => {
		const before = pointers.get(move.pointerId), point = at(move);
		if (!before)
			return;
		pointers.set(move.pointerId, point);
		const plot = Math.max(1, timeline.width - timeline.label);
		if (pointers.size === 2) {
			const [a, b] = [...pointers.values()], apart = Math.max(20, Math.hypot(a.x - b.x, a.y - b.y));
			if (pinch)
				zoom(pinch / apart, toTime((a.x + b.x) / 2));
			pinch = apart;
			pressed.moved = true;
		} else if (pressed && (pressed.moved || Math.hypot(point.x - pressed.x, point.y - pressed.y) > 4)) {
			if (!pressed.moved)
				frame.setPointerCapture(move.pointerId);
			pressed.moved = true;
			const by = (pressed.x - point.x) / plot * (pressed.view.to - pressed.view.from);
			look(pressed.view.from + by, pressed.view.to + by);
			if (move.pointerType === 'mouse')
				frame.scrollTop = pressed.top + pressed.y - point.y;
		}
	});
	const up = point => {
		const was = pressed && pointers.delete(point.pointerId) && !pressed.moved && point.type === 'pointerup';
		if (!pointers.size)
			pressed = null;
		if (was)
			click(at(point));
	};
	frame.addEventListener('pointerup', up);
	frame.addEventListener('pointercancel', up);
	frame.addEventListener('dblclick', twice => zoom(0.25, toTime(at(twice).x)));
	listenToOverview();
	new ResizeObserver(redraw).observe(frame);
}

function click(point) {
	const index = Math.floor((point.y - AXIS_HEIGHT + $('rows').scrollTop) / timeline.rowHeight), place = timeline.shown[index];
	if (place === undefined || point.y < AXIS_HEIGHT)
		return;
	const row = data.rows[data.placed[place]], indent = 10 + Math.min(row.depth, 9) * 12;
	const isName = timeline.label ? point.x < timeline.label : (point.y - AXIS_HEIGHT + $('rows').scrollTop) % timeline.rowHeight < 18;
	if (row.size > 1 && isName && Math.abs(point.x - indent) < 14)
		fold(place, !timeline.collapsed.has(place));
	const event = point.x < timeline.label ? -1 : eventAt(lanesOf(place), point.x);
	choose(place, event < 0 ? undefined : event);
}

function listenToOverview() {
	const box = $('overview-box');
	const go = point => {
		const frame = box.getBoundingClientRect(), span = timeline.view.to - timeline.view.from;
		const time = data.from + (point.clientX - frame.left) / frame.width * (data.to - data.from);
		look(time - span / 2, time + span / 2);
	};
	box.addEventListener('pointerdown', down => {
		box.setPointerCapture(down.pointerId);
		go(down);
	});
	box.addEventListener('pointermove', move => {
		if (box.hasPointerCapture(move.pointerId))
			go(move);
	});
}
