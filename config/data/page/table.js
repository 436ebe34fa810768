/*
 * Tables of any length: a page of rows at a time, sorted by a column, filtered by words.  A real table, whose rows the arrow keys go
 * through: one of them is in the order of the Tab key.
 */

const PAGE_ROWS = 15;

/*
 * place: an element to fill.  options:
 *	label		what it is a table of
 *	noun		[one, many]
 *	ids		of all rows, a list of numbers
 *	columns		[{ title, cell(id): string or element, value(id): number or string to sort by, isNumber }]
 *	sort		[column, 'up' or 'down'], or nothing: as they are
 *	find		async (words, run, slice): a function that tells whether a row has them
 *	open(id)	Enter, or a click
 *	hint		what the filter looks at
 */
class Table {
	constructor(place, options) {
		Object.assign(this, options);
		this.place = place;
		this.page = 0;
		this.list = this.ids;
		this.turns = new Turns();
		this.build();
		this.update();
	}

	build() {
		const id = this.place.id;
		this.counted = make('p', { class: 'counted', role: 'status' });
		this.input = make('input', { type: 'search', id: `${id}-filter`, autocomplete: 'off', spellcheck: 'false', placeholder: this.hint,
			input: () => this.update() });
		this.heads = this.columns.map((column, i) => make('th', { scope: 'col', class: column.isNumber ? 'number' : column.class },
			column.value ? make('button', { type: 'button', click: () => this.sortBy(i) }, column.title) : column.title));
		this.body = make('tbody', { keydown: key => this.key(key), click: click => this.click(click), focusin: focus => this.focused(focus) });
		this.buttons = [['First', () => 0], ['Previous', () => this.page - 1], ['Next', () => this.page + 1], ['Last', () => Infinity]]
			.map(([title, page]) => make('button', { type: 'button', class: 'plain', click: () => this.turn(page()) }, title));
		this.range = make('span', { class: 'range' });
		replace(this.place,
			this.tools = make('div', { class: 'table-tools' }, this.find ? make('label', { for: `${id}-filter` }, 'Filter ', this.input) : null, this.counted),
			make('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': this.label },
				make('table', null, make('caption', { class: 'unseen' }, this.label), make('thead', null, make('tr', null, this.heads)), this.body)),
			this.pager = make('nav', { class: 'pager', 'aria-label': `Pages: ${this.label}` }, this.buttons.slice(0, 2), this.range, this.buttons.slice(2)));
	}

	/* Filters and sorts anew.  What was begun before is given up. */
	async update() {
		const run = this.turns.next(), slice = new Slice(), words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
		let list = this.ids;
		if (words.length && this.find) {
			const has = await this.find(words, run, slice);
			if (run.late)
				return;
			list = [];
			for (let i = 0; i < this.ids.length; i++) {
				if (has(this.ids[i]))
					list.push(this.ids[i]);
				if (slice.over()) {
					await slice.pause();
					if (run.late)
						return;
				}
			}
		}
		if (this.sort) {
			list = await this.inOrder(list, run, slice);
			if (!list || run.late)
				return;
		}
		this.list = list;
		this.page = 0;
		this.show();
	}

	/* Values are made once, not at each comparison. */
	async inOrder(list, run, slice) {
		const [at, direction] = this.sort, column = this.columns[at], sign = direction === 'up' ? 1 : -1;
		const rows = new Array(list.length);
		for (let i = 0; i < list.length; i++) {
			rows[i] = { id: list[i], value: column.value(list[i]) };
			if (slice.over()) {
				await slice.pause();
				if (run.late)
					return null;
			}
		}
		const found = await sorted(rows, (a, b) => (a.value < b.value ? -sign : a.value > b.value ? sign : 0), run);
		return found && found.map(row => row.id);
	}

	sortBy(column) {
		const first = this.columns[column].isNumber ? 'down' : 'up';
		const isSame = this.sort && this.sort[0] === column;
		this.sort = [column, isSame ? (this.sort[1] === 'up' ? 'down' : 'up') : first];
		this.update();
	}

	turn(page) {
		this.page = Math.max(0, Math.min(Math.ceil(this.list.length / PAGE_ROWS) - 1, page));
		this.show();
	}

	show() {
		const from = this.page * PAGE_ROWS, ids = this.list.slice(from, from + PAGE_ROWS);
		this.heads.forEach((head, i) => {
			if (this.sort && this.sort[0] === i)
				head.setAttribute('aria-sort', this.sort[1] === 'up' ? 'ascending' : 'descending');
			else
				head.removeAttribute('aria-sort');
		});
		replace(this.body, [...ids].map((id, i) => make('tr', { tabindex: i || !this.open ? '-1' : '0', 'data-id': id },
			this.columns.map((column, at) => make(at ? 'td' : 'th', { scope: at ? null : 'row', class: column.isNumber ? 'number' : column.class },
				column.cell(id))))));
		if (!ids.length)
			this.body.append(make('tr', null, make('td', { colspan: this.columns.length, class: 'none' }, 'Nothing to show.')));
		const all = this.list.length, most = this.ids.length;
		this.counted.textContent = all === most ? plural(all, ...this.noun) : `${number(all)} of ${plural(most, ...this.noun)}`;
		this.range.textContent = all ? `${number(from + 1)}–${number(from + ids.length)} of ${number(all)}` : '';
		this.pager.hidden = all <= PAGE_ROWS;
		this.tools.hidden = !this.find;
		this.buttons.forEach((button, i) => {
			button.disabled = i < 2 ? this.page === 0 : from + PAGE_ROWS >= all;
		});
	}

	/* ---- rows by keys ---- */

	focused(focus) {
		const row = focus.target.closest('tr');
		for (const other of this.body.rows)
			other.tabIndex = other === row ? 0 : -1;
	}

	key(key) {
		const rows = [...this.body.rows], at = rows.indexOf(key.target.closest('tr'));
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[key.key];
		if (key.ctrlKey || key.altKey || key.metaKey)
			return;
		if (to !== undefined) {
			key.preventDefault();
			rows[Math.max(0, Math.min(rows.length - 1, to))].focus();
		} else if (key.key === 'PageDown' || key.key === 'PageUp') {
			key.preventDefault();
			this.turn(this.page + (key.key === 'PageDown' ? 1 : -1));
			this.body.rows[0].focus();
		} else if (key.key === 'Enter' && key.target.dataset.id && this.open) {
			key.preventDefault();
			this.open(Number(key.target.dataset.id));
		}
	}

	click(click) {
		const row = click.target.closest('tr');
		if (row && row.dataset.id && this.open && !String(getSelection()))
			this.open(Number(row.dataset.id));
	}
}

/* A find() for tables whose rows each have some texts, of which many rows may have the same: every text is looked at once. */
function findInTexts(textsOf) {
	return async (words, run, slice) => {
		const masks = new Map(), all = words.length >= 31 ? 0x7fffffff : (1 << words.length) - 1;
		const maskOf = index => {
			let mask = masks.get(index);
			if (mask === undefined) {
				const text = typeof index === 'string' ? index.toLowerCase() : texts.get(index).toLowerCase();
				mask = words.slice(0, 31).reduce((found, word, i) => (text.includes(word) ? found | 1 << i : found), 0);
				masks.set(index, mask);
			}
			return mask;
		};
		return id => textsOf(id).reduce((found, index) => found | maskOf(index), 0) === all;
	};
}
