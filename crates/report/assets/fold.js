// SPDX-License-Identifier: MIT OR Apache-2.0
// Folds away the metrics of a summary table that are not for a first look.

const makeFoldable = (table) => {
	const measures = [...table.querySelectorAll("tr[data-measure]")];
	const main = measures.filter((row) => row.dataset.fold === "no").length;
	if (main === 0 || main === measures.length) return;
	const toggle = button("", "Show or hide further metrics", () => fold(!table.classList.contains("folded")));
	const fold = (on) => {
		table.classList.toggle("folded", on);
		toggle.textContent = on ? `all ${measures.length} metrics` : `only ${main} metrics`;
	};
	fold(true);
	table.closest(".scroller").after(html("div", { class: "tools" }, toggle));
};
