// SPDX-License-Identifier: MIT OR Apache-2.0
// What the drawn figures share: elements, panels that follow the page's width, axes.

const html = (name, attributes = {}, ...children) => {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
	element.append(...children);
	return element;
};

const svg = (name, attributes = {}, ...children) => {
	const element = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
	element.append(...children);
	return element;
};

const button = (text, label, press) => {
	const element = html("button", { type: "button", "aria-label": label, title: label }, text);
	element.addEventListener("click", press);
	return element;
};

/** All drawings of the page: drawn again when their width or the colours change. */
const drawings = [];

/** Calls `draw(width)` now and whenever the element has another width, then tells of it. */
const keepDrawn = (element, draw) => {
	const drawing = {
		width: 0,
		draw(always) {
			const width = Math.floor(element.clientWidth);
			if (width === 0 || (!always && width === drawing.width)) return;
			draw(drawing.width = width);
			element.dispatchEvent(new Event("redrawn", { bubbles: true }));
		},
	};
	drawings.push(drawing);
	new ResizeObserver(() => requestAnimationFrame(() => drawing.draw(false))).observe(element);
	drawing.draw(true);
	return drawing;
};

/** Text is about this wide: a little wider than most fonts, as they differ. */
const textWidth = (text, size = 11) => text.length * size * 0.6;

/** A panel for each of a list: heading, and room for a drawing. */
const panels = (plot, list, draw, kind = "panels") => {
	const grid = html("div", { class: kind });
	plot.append(grid);
	return list.map((item) => {
		const room = html("div", { class: "drawing" });
		grid.append(html("section", { class: "panel" }, html("h4", {}, item.name), room));
		return keepDrawn(room, (width) => room.replaceChildren(draw(item, width)));
	});
};

/**
 * The frame of a chart: grid lines and texts of both axes. `x` and `y` have `marks`
 * (`{at, text}`) and place a number with `place(at)` on 0 to 1.
 */
const frame = ({ width, height, x, y, title }) => {
	const left = Math.ceil(Math.max(...y.marks.map(({ text }) => textWidth(text)), 12)) + 8;
	const box = { left, top: y.title ? 24 : 8, right: width - 12, bottom: height - (x.title ? 36 : 22) };
	box.x = (at) => box.left + x.place(at) * (box.right - box.left);
	box.y = (at) => box.bottom - y.place(at) * (box.bottom - box.top);
	const root = svg("svg", {
		class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title,
	});
	const heights = [];
	for (const { at, text } of y.marks) {
		const place = box.y(at);
		// A text that would lie on an earlier one is left out.
		const isFree = heights.every((other) => Math.abs(other - place) >= 13);
		if (isFree) heights.push(place);
		root.append(
			svg("line", { class: at === 0 ? "axis" : "grid", x1: box.left, x2: box.right, y1: place, y2: place }),
			...(isFree ? [svg("text", { class: "tick end", x: box.left - 6, y: place + 4 }, text)] : []),
		);
	}
	let taken = -Infinity;
	for (const { at, text } of x.marks) {
		const place = box.x(at), half = textWidth(text) / 2;
		root.append(svg("line", { class: "grid", x1: place, x2: place, y1: box.top, y2: box.bottom + 4 }));
		// Near an edge the text is moved inside; without room it is left out.
		const middle = clamp(place, half, width - half);
		if (middle - half < taken) continue;
		taken = middle + half + 6;
		root.append(svg("text", { class: "tick middle", x: middle, y: box.bottom + 16 }, text));
	}
	if (y.title) root.append(svg("text", { class: "title", x: 0, y: 12 }, y.title));
	if (x.title) root.append(svg("text", { class: "title end", x: box.right, y: height - 4 }, x.title));
	return { root, box };
};

/** A linear axis of times from here to there. */
const timeAxis = (from, to, width) => {
	const marks = timeMarks(from, to, Math.max(2, Math.floor(width / 70))).marks;
	return { marks, place: (at) => (at - from) / (to - from || 1), from, to };
};

/** A dashed line at the end of the warm-up, where metrics begin. */
const warmupLine = (box, x, warmup) => {
	if (warmup <= x.from || warmup >= x.to) return [];
	const at = box.x(warmup);
	return [svg("line", { class: "warmup", x1: at, x2: at, y1: box.top, y2: box.bottom },
		svg("title", {}, "end of the warm-up"))];
};

/** While the pointer is over a chart, a line at its place and `lines(x)` in words. */
const follow = (root, box, lines) => {
	const line = svg("line", { class: "pointer", y1: box.top, y2: box.bottom, visibility: "hidden" });
	root.append(line);
	root.addEventListener("pointermove", (event) => {
		const area = root.getBoundingClientRect();
		const scale = area.width / root.viewBox.baseVal.width;
		const x = (event.clientX - area.left) / scale;
		const part = clamp((x - box.left) / (box.right - box.left), 0, 1);
		const at = box.left + part * (box.right - box.left);
		line.setAttribute("x1", at);
		line.setAttribute("x2", at);
		line.setAttribute("visibility", "visible");
		tooltip.show(event.clientX, event.clientY, lines(part));
	});
	root.addEventListener("pointerleave", () => {
		line.setAttribute("visibility", "hidden");
		tooltip.hide();
	});
};
