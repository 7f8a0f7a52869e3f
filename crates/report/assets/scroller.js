// SPDX-License-Identifier: MIT OR Apache-2.0
// Says that a summary table goes on to the sides, and moves it there.

const makeScrollable = (table) => {
	const area = table.parentElement, frame = area.parentElement;
	const [first, ...policies] = table.tHead.rows[0].cells;
	const said = html("output", { class: "in-view" });
	const move = (sign) => area.scrollBy({ left: sign * (area.clientWidth - pinnedWidth()) * 0.9, behavior: "smooth" });
	const earlier = button("◀", "Policies to the left", () => move(-1));
	const later = button("▶", "Policies to the right", () => move(1));
	const cue = html("div", { class: "tools cue" }, earlier, later, said);
	frame.before(cue);

	const isPinned = (cell) => getComputedStyle(cell).position === "sticky";
	const pinnedWidth = () => [first, ...policies].filter(isPinned).reduce((sum, cell) => sum + cell.offsetWidth, 0);

	const update = () => {
		// The baseline's column begins where the names of metrics end.
		table.style.setProperty("--names", first.offsetWidth + "px");
		const pinned = pinnedWidth(), { left, right } = area.getBoundingClientRect();
		frame.style.setProperty("--pinned", pinned + "px");
		const rest = area.scrollWidth - area.clientWidth;
		cue.hidden = rest <= 1;
		const isSeen = (cell) => {
			const box = cell.getBoundingClientRect();
			return isPinned(cell) || (box.left >= left + pinned - 1 && box.right <= right + 1);
		};
		const seen = policies.filter(isSeen).length;
		said.textContent = `${seen} of ${policies.length} policies in view`;
		earlier.disabled = area.scrollLeft <= 1;
		later.disabled = area.scrollLeft >= rest - 1;
		frame.dataset.more = [earlier.disabled ? "" : "left", later.disabled ? "" : "right"].join(" ").trim();
	};
	area.addEventListener("scroll", update, { passive: true });
	new ResizeObserver(update).observe(area);
	new ResizeObserver(update).observe(table);
};
