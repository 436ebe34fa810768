/*
 * Lanes: of a row, or of a row with all below it, the events of each kind in the order of their times.  How many events fall into a
 * pixel is then told by two searches, so that a picture takes as long as it has pixels, not as the session has events.
 *
 * Events are ordered by time once (`order`; `rank` is its inverse).  A row's own lanes are parts of one array, `slots`, sorted
 * by place, kind and time; those of a row with all below it are put together when they are first wanted.
 */

const lanes = {
	order: null, rank: null,
	slots: null, slotTimes: null, /* events, and their times */
	offsets: null,                /* where those of a place and kind begin in them: place * KINDS.length + kind */
	of: new Map(),                /* of rows with all below them, by place */
	all: null,                    /* of everything */
};

const LANES_KEPT = 400, SORTED_AT_ONCE = 20000;

/* By radix, 16 bits at a time: what comes in the order of the file is nearly sorted, but who says that it is? */
async function orderByTime(slice) {
	const count = data.count, time = data.time;
	let from = new Uint32Array(count), isSorted = true, least = Infinity, most = -Infinity;
	for (let i = 0; i < count; i++) {
		from[i] = i;
		isSorted = isSorted && (i === 0 || time[i - 1] <= time[i]);
		least = Math.min(least, time[i]);
		most = Math.max(most, time[i]);
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	data.from = count ? least : 0;
	data.to = count ? Math.max(most, least + 1) : 1;
	if (!isSorted) {
		const scale = 0xffffffff / (data.to - data.from);
		const key = event => Math.floor((time[event] - data.from) * scale);
		let to = new Uint32Array(count);
		for (const shift of [0, 16]) {
			const starts = new Uint32Array(65537);
			for (let i = 0; i < count; i++) {
				starts[(key(i) >>> shift & 0xffff) + 1]++;
				if (i % STRIDE === 0 && slice.over())
					await slice.pause();
			}
			for (let i = 0; i < 65536; i++)
				starts[i + 1] += starts[i];
			for (let i = 0; i < count; i++) {
				to[starts[key(from[i]) >>> shift & 0xffff]++] = from[i];
				if (i % STRIDE === 0 && slice.over())
					await slice.pause();
			}
			[from, to] = [to, from];
		}
	}
	lanes.order = from;
}

async function buildLanes() {
	const slice = new Slice(), count = data.count, kinds = KINDS.length;
	await orderByTime(slice);
	const places = new Uint32Array(data.rows.length);
	for (let i = 0; i < places.length; i++)
		places[i] = data.rows[i].place;
	const offsets = lanes.offsets = new Uint32Array(places.length * kinds + 1);
	const next = new Uint32Array(places.length * kinds);
	lanes.rank = new Uint32Array(count);
	lanes.slots = new Uint32Array(count);
	lanes.slotTimes = new Float64Array(count);
	await slice.pause();
	for (let i = 0; i < count; i++) {
		offsets[places[data.row[i]] * kinds + data.kind[i] + 1]++;
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	for (let i = 0; i < next.length; i++) {
		next[i] = offsets[i];
		offsets[i + 1] += offsets[i];
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	for (let i = 0; i < count; i++) {
		const event = lanes.order[i], slot = next[places[data.row[event]] * kinds + data.kind[event]]++;
		lanes.rank[event] = i;
		lanes.slots[slot] = event;
		lanes.slotTimes[slot] = data.time[event];
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	lanes.all = await together(0, places.length, slice);
}

/* The lanes of a row alone. */
function ownLanes(place) {
	const result = [];
	for (let kind = 0; kind < KINDS.length; kind++) {
		const from = lanes.offsets[place * KINDS.length + kind], to = lanes.offsets[place * KINDS.length + kind + 1];
		result.push({ events: lanes.slots.subarray(from, to), times: lanes.slotTimes.subarray(from, to) });
	}
	return result;
}

/* The events of all rows from one place to before another, in the order of their times. */
async function eventsBetween(from, to, slice) {
	const first = lanes.offsets[from * KINDS.length], last = lanes.offsets[to * KINDS.length];
	const found = new Uint32Array(last - first);
	if (last - first <= SORTED_AT_ONCE) {
		for (let i = first; i < last; i++)
			found[i - first] = lanes.rank[lanes.slots[i]];
		found.sort(); /* by the ranks, then back to what has them */
		return found.map(rank => lanes.order[rank]);
	}
	for (let i = 0, used = 0; i < data.count; i++) {
		const event = lanes.order[i], place = data.rows[data.row[event]].place;
		if (place >= from && place < to)
			found[used++] = event;
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	return found;
}

/* The lanes of those rows. */
async function together(from, to, slice) {
	const events = await eventsBetween(from, to, slice), counts = new Array(KINDS.length).fill(0);
	for (let i = 0; i < events.length; i++) {
		counts[data.kind[events[i]]]++;
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	const result = counts.map(count => ({ events: new Uint32Array(count), times: new Float64Array(count) }));
	const used = new Array(KINDS.length).fill(0);
	for (let i = 0; i < events.length; i++) {
		const event = events[i], kind = data.kind[event], at = used[kind]++;
		result[kind].events[at] = event;
		result[kind].times[at] = data.time[event];
		if (i % STRIDE === 0 && slice.over())
			await slice.pause();
	}
	return result;
}

/* The lanes of a row with all below it; null while they are put together: then(lanes) is called later. */
function lanesBelow(place, then) {
	const known = lanes.of.get(place);
	if (known !== undefined)
		return known;
	if (lanes.of.size >= LANES_KEPT)
		lanes.of.delete(lanes.of.keys().next().value);
	lanes.of.set(place, null);
	together(place, place + data.rows[data.placed[place]].size, new Slice()).then(result => {
		lanes.of.set(place, result);
		then(result);
	});
	return null;
}

/* Where the first of sorted times is, or of other numbers, that is not below one; looks near `from` first. */
function firstFrom(times, time, from = 0) {
	let step = 1, low = from, high = from;
	while (high < times.length && times[high] < time) {
		low = high + 1;
		high += step;
		step *= 2;
	}
	high = Math.min(high, times.length);
	while (low < high) {
		const middle = low + high >>> 1;
		if (times[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls each(bin, count, index of the first) for every bin between two times that is not empty. */
function eachBin(times, from, to, bins, each) {
	const width = (to - from) / bins;
	let at = firstFrom(times, from);
	while (at < times.length && times[at] < to) {
		const bin = Math.max(0, Math.min(bins - 1, Math.floor((times[at] - from) / width)));
		let next = firstFrom(times, from + (bin + 1) * width, at);
		next = Math.max(next, at + 1);
		each(bin, next - at, at);
		at = next;
	}
}

/* Of lanes, the event that comes next to one: direction 1 later, -1 earlier.  -1: none. */
function nextEvent(rowLanes, event, direction) {
	let best = -1;
	for (const lane of rowLanes) {
		const at = rankIn(lane.events, lanes.rank[event]);
		const index = direction > 0 ? (lane.events[at] === event ? at + 1 : at) : at - 1;
		const found = lane.events[index];
		if (found !== undefined && index >= 0 &&
			(best < 0 || (lanes.rank[found] - lanes.rank[best]) * direction < 0))
			best = found;
	}
	return best;
}

/* The first of a lane's events whose rank is not below one. */
function rankIn(events, rank) {
	let low = 0, high = events.length;
	while (low < high) {
		const middle = low + high >>> 1;
		if (lanes.rank[events[middle]] < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
