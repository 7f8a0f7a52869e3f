// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws all figures, and keeps them fitting: to colour scheme, paper, and what is brought out.

const PLOTS = { timeline: showTimelines, shares: showShares, lags: showLags, latencies: showLatencies };

/** The legend of a workload: which group is brought out in its figures. */
const showLegend = (section, data) => {
	const items = [...section.querySelectorAll(".by-task > .legend [data-group]")];
	const show = () => {
		for (const path of section.querySelectorAll(".plot [data-group]")) {
			path.classList.toggle("faded", data.focus !== null && Number(path.dataset.group) !== data.focus);
		}
		for (const item of items) item.setAttribute("aria-pressed", Number(item.dataset.group) === data.focus);
	};
	for (const item of items) {
		item.addEventListener("click", () => {
			const group = Number(item.dataset.group);
			data.focus = data.focus === group ? null : group;
			show();
			for (const listener of data.onFocus) listener();
		});
	}
	section.addEventListener("redrawn", show);
};

for (const section of document.querySelectorAll("section.workload")) {
	section.querySelectorAll("table.summary").forEach((table) => {
		makeSortable(table);
		makeFoldable(table);
		makeScrollable(table);
	});
	const source = document.getElementById(section.dataset.figures);
	if (!source) continue;
	const data = { ...JSON.parse(source.textContent), focus: null, onFocus: [] };
	source.remove();
	for (const plot of section.querySelectorAll("[data-plot]")) {
		PLOTS[plot.dataset.plot](plot, data);
	}
	showLegend(section, data);
}

const redrawAll = () => {
	for (const drawing of drawings) drawing.draw(true);
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

// On paper, figures are as wide as the page, and dark on white.
addEventListener("beforeprint", () => {
	document.documentElement.dataset.paper = "";
	redrawAll();
});
addEventListener("afterprint", () => {
	delete document.documentElement.dataset.paper;
	redrawAll();
});
