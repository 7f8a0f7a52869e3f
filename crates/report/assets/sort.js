// SPDX-License-Identifier: MIT OR Apache-2.0
// Orders the policies of a summary table by a metric: a press on its name. The baseline stays first.

const makeSortable = (table) => {
	const rows = [...table.querySelectorAll("tr")].filter((row) => !row.classList.contains("group"));
	const original = rows.map((row) => [...row.children]);
	let sorted = null;

	/** Puts the columns of all rows into an order of places; the first column stays. */
	const arrange = (order) => rows.forEach((row, i) => row.append(...order.map((at) => original[i][at])));

	const press = (row, cells, name) => {
		sorted = sorted === row ? null : row;
		for (const other of table.querySelectorAll("button[aria-pressed]")) {
			other.setAttribute("aria-pressed", other === name && sorted !== null);
		}
		const order = cells.slice(1).map((_, i) => i + 1);
		if (sorted) {
			const sign = row.dataset.better === "higher" ? -1 : 1;
			const value = (at) => (cells[at].dataset.value === undefined ? Infinity : sign * Number(cells[at].dataset.value));
			// Equal ones keep their order.
			const pinned = (at) => (cells[at].classList.contains("baseline") ? 0 : 1);
			order.sort((a, b) => pinned(a) - pinned(b) || (value(a) === value(b) ? 0 : value(a) - value(b)));
		}
		arrange(order);
	};

	rows.forEach((row, i) => {
		const label = row.querySelector(".label");
		if (!label || original[i].length < 3) return;
		const name = button(label.textContent, "Order the policies by " + label.textContent, () => press(row, original[i], name));
		name.setAttribute("aria-pressed", "false");
		label.replaceChildren(name);
	});
};
