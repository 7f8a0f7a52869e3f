// SPDX-License-Identifier: MIT OR Apache-2.0
// The timelines of a workload: lanes that show the same stretch of time, and their tools.

/** Lanes that are shown at first may be so high together. */
const HEIGHT_AT_FIRST = 1400;

const HINT = "Drag to move, Ctrl and wheel or two fingers to zoom, double-click to zoom in. Keys: arrows, + − 0, n and p for the next and previous slice.";

class TimelineFigure {
	constructor(plot, data) {
		Object.assign(this, { plot, data });
		const { policies } = data;
		this.view = new View(
			Math.min(...policies.map(({ timeline }) => timeline.from)),
			Math.max(...policies.map(({ timeline }) => timeline.to)),
		);
		this.lanes = policies.map((policy) => {
			const slices = `${policy.name}: ${policy.timeline.cpus.length} CPUs`;
			return new Lane(data, policy, this.view, `Timeline under ${slices}`);
		});
		this.chosen = null;
		this.build();
		let waiting = false;
		this.view.changed = () => {
			tooltip.hide();
			if (waiting) return;
			waiting = true;
			requestAnimationFrame(() => {
				waiting = false;
				this.drawing.draw(true);
			});
		};
		data.onFocus.push(() => this.drawing.draw(true));
		this.drawing = keepDrawn(this.area, (width) => this.draw(width));
	}

	build() {
		const { view } = this;
		this.range = html("output", { class: "range" });
		this.said = html("div", { class: "unseen", role: "status" });
		this.thumb = html("div", { class: "thumb" });
		this.overview = html("div", { class: "overview", "aria-hidden": "true" }, this.thumb);
		this.axes = [html("div", { class: "time-axis" }), html("div", { class: "time-axis" })];
		this.area = html("div", {
			class: "lanes", tabindex: "0", role: "application", "aria-label": `${this.plot.dataset.label} ${HINT}`,
		}, this.axes[0], ...this.lanes.map((lane) => lane.element), this.axes[1]);
		const tools = html("div", { class: "tools" },
			button("+", "Zoom in", () => view.zoom(1 / 2)),
			button("−", "Zoom out", () => view.zoom(2)),
			button("◀", "Move to earlier", () => view.pan(-0.5)),
			button("▶", "Move to later", () => view.pan(0.5)),
			button("all", "Show all", () => view.show(view.least, view.most)),
			this.range);
		this.plot.append(this.policyChoice(), tools, this.overview, this.area, html("p", { class: "hint" }, HINT), this.said);
		handlePointers(this.area, this);
		handleKeys(this.area, this);
		handleOverview(this.overview, this);
	}

	/** Which policies are shown: at first as many as are not too high together. */
	policyChoice() {
		const choice = html("div", { class: "choice", role: "group", "aria-label": "Policies shown" });
		let height = 0;
		for (const lane of this.lanes) {
			height += lane.height + 30;
			const box = html("input", { type: "checkbox" });
			box.checked = height <= HEIGHT_AT_FIRST || lane === this.lanes[0];
			lane.element.hidden = !box.checked;
			box.addEventListener("change", () => {
				lane.element.hidden = !box.checked;
				if (this.chosen === lane) this.choose(null);
				this.drawing.draw(true);
			});
			choice.append(html("label", {}, box, lane.policy.name));
		}
		choice.hidden = this.lanes.length < 2;
		return choice;
	}

	get shown() {
		return this.lanes.filter((lane) => !lane.element.hidden);
	}

	draw(width) {
		const { view } = this, colours = timelineColours(this.data, this.data.focus);
		for (const lane of this.shown) lane.draw(width, colours);
		for (const axis of this.axes) axis.replaceChildren(this.drawAxis(width));
		const whole = view.most - view.least;
		this.thumb.classList.toggle("whole", view.isWhole);
		this.thumb.style.left = (view.from - view.least) / whole * 100 + "%";
		this.thumb.style.width = view.span / whole * 100 + "%";
		this.range.textContent = `${exactTime(Math.round(view.from))} to ${exactTime(Math.round(view.to))} (${timeText(view.span)})`;
	}

	drawAxis(width) {
		const { view } = this, length = width - GUTTER;
		const { base, marks } = timeMarks(view.from, view.to, Math.max(2, Math.floor(length / 70)));
		const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} 20`, "aria-hidden": "true" });
		if (base) root.append(svg("text", { class: "tick", x: 0, y: 13 }, exactTime(base)));
		const taken = base ? textWidth(exactTime(base)) + 8 : 0;
		for (const { at, text } of marks) {
			const x = GUTTER + (at - view.from) / view.span * length, half = textWidth(text) / 2;
			const middle = Math.min(x, width - half);
			if (middle - half < taken) continue;
			root.append(
				svg("line", { class: "grid", x1: x, x2: x, y1: 16, y2: 20 }),
				svg("text", { class: "tick middle", x: middle, y: 13 }, text),
			);
		}
		return root;
	}

	/** Marks a slice of a lane and tells what it is; without a lane, none. */
	choose(lane, slice) {
		for (const other of this.lanes) other.cursor = null;
		this.chosen = lane;
		tooltip.hide();
		if (!lane) {
			this.said.textContent = "";
			return this.drawing.draw(true);
		}
		lane.cursor = slice;
		const { start, end } = lane.cpus[slice.cpu];
		this.view.reveal(start[slice.i], end[slice.i]);
		this.drawing.draw(true);
		const lines = lane.describe(slice), { left, top } = lane.placeOf(slice);
		this.said.textContent = lines.map((line) => line.text ?? line).join(", ");
		const box = lane.canvas.getBoundingClientRect();
		// After the frame in which the view may change, which hides it.
		requestAnimationFrame(() => tooltip.show(box.left + Math.max(left, GUTTER), box.top + top + lane.row, lines));
	}

	/** The slice after or before the chosen one on its CPU; at first one in sight. */
	chooseNext(step) {
		const lane = this.chosen;
		if (!lane) return this.chooseRow(1);
		const { cpu, i } = lane.cursor;
		const next = i + step;
		if (next >= 0 && next < lane.cpus[cpu].count) this.choose(lane, { cpu, i: next });
	}

	/** The slice at the same time on the next or previous CPU, also of the next policy. */
	chooseRow(step) {
		const rows = this.shown.flatMap((lane) => lane.cpus.map((_, cpu) => ({ lane, cpu })));
		const { chosen } = this, slice = chosen?.cursor;
		const time = slice ? Math.max(chosen.cpus[slice.cpu].start[slice.i], this.view.from) : this.view.from;
		let at = rows.findIndex(({ lane, cpu }) => lane === chosen && cpu === slice.cpu);
		if (at < 0 && step < 0) at = rows.length;
		for (at += step; at >= 0 && at < rows.length; at += step) {
			const { lane, cpu } = rows[at], near = lane.sliceNear(cpu, time);
			if (near) return this.choose(lane, near);
		}
	}
}

const showTimelines = (plot, data) => new TimelineFigure(plot, data);
