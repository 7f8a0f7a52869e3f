// SPDX-License-Identifier: MIT OR Apache-2.0
// One policy's timeline: a canvas with a row for each CPU.

/** Room for the names of CPUs, left of the rows. */
const GUTTER = 46;
/** From here on a slice shows its task's name. */
const NAMED_WIDTH = 34;
/** A slice is met by a pointer that misses it by so many pixels. */
const REACH = 3;

/** Height of a CPU's row: many CPUs are flatter. */
const rowHeight = (cpus) => (cpus <= 4 ? 22 : cpus <= 8 ? 17 : cpus <= 16 ? 13 : clamp(Math.floor(384 / cpus), 3, 12));

class Lane {
	constructor(data, policy, view, label) {
		Object.assign(this, { data, policy, view });
		this.cpus = policy.timeline.cpus.map((row) => decodeSlices(row, policy.timeline.from));
		this.row = rowHeight(this.cpus.length);
		this.gap = this.row > 6 ? 2 : this.row > 4 ? 1 : 0;
		this.height = this.cpus.length * this.row;
		this.canvas = html("canvas", { role: "img", "aria-label": label });
		this.element = html("section", { class: "lane" }, html("h4", {}, policy.name), this.canvas);
		/** The chosen slice: CPU and place. */
		this.cursor = null;
	}

	draw(width, colours) {
		const density = window.devicePixelRatio || 1;
		const across = Math.round(width * density), down = Math.round(this.height * density);
		Object.assign(this, { width, density });
		if (this.canvas.width !== across) this.canvas.width = across;
		if (this.canvas.height !== down) this.canvas.height = down;
		const context = this.canvas.getContext("2d");
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, across, down);
		const left = Math.round(GUTTER * density), length = Math.max(1, across - left);
		const height = Math.max(1, Math.round((this.row - this.gap) * density));
		const image = context.createImageData(length, height);
		const pixels = new Uint32Array(image.data.buffer);
		const names = [];
		this.cpus.forEach((slices, cpu) => {
			const wide = paintRow(pixels, length, height, slices, this.view, colours, this.data.groupOf, NAMED_WIDTH * density);
			context.putImageData(image, left, Math.round(cpu * this.row * density));
			if (this.row >= 13) names.push(...wide.map((place) => [cpu, ...place]));
		});
		context.setTransform(density, 0, 0, density, 0, 0);
		context.font = `11px ${colours.font}`;
		context.textBaseline = "middle";
		this.nameCpus(context, colours);
		this.nameSlices(context, colours, names);
		this.drawCursor(context, colours);
	}

	nameCpus(context, colours) {
		const every = Math.ceil(13 / this.row);
		context.fillStyle = colours.text;
		context.textAlign = "right";
		this.cpus.forEach((_, cpu) => {
			const middle = Math.max(cpu * this.row + (this.row - this.gap) / 2, 6);
			if (cpu % every === 0 && middle < this.height - 4) context.fillText(`CPU ${cpu}`, GUTTER - 6, middle + 0.5);
		});
	}

	nameSlices(context, colours, names) {
		context.textAlign = "center";
		for (const [cpu, i, from, to] of names) {
			const task = this.cpus[cpu].task[i], name = this.taskName(task);
			const room = (to - from) / this.density - 8;
			const text = context.measureText(name).width <= room ? name : null;
			if (!text) continue;
			context.fillStyle = colours.inks[this.data.groupOf[task]] ?? colours.text;
			const { focus } = this.data;
			if (focus !== null && focus !== this.data.groupOf[task]) context.fillStyle = colours.text;
			context.fillText(text, GUTTER + (from + to) / 2 / this.density, cpu * this.row + (this.row - this.gap) / 2 + 0.5);
		}
	}

	drawCursor(context, colours) {
		if (!this.cursor) return;
		const { left, right, top } = this.placeOf(this.cursor);
		if (right < GUTTER || left > this.width) return;
		context.strokeStyle = colours.mark;
		context.lineWidth = 2;
		const from = Math.max(left - 1, GUTTER - 1), to = Math.min(right + 1, this.width);
		context.strokeRect(from, top, Math.max(to - from, 3), this.row - this.gap);
	}

	/** Where a slice is, in pixels of the page from the corner of the canvas. */
	placeOf({ cpu, i }) {
		const slices = this.cpus[cpu], x = (time) => GUTTER + (time - this.view.from) * (this.width - GUTTER) / this.view.span;
		return { left: x(slices.start[i]), right: x(slices.end[i]), top: cpu * this.row };
	}

	timeAt(x) {
		return this.view.from + clamp((x - GUTTER) / (this.width - GUTTER), 0, 1) * this.view.span;
	}

	/** The slice at a place on the canvas, or the nearest one within reach; null: none. */
	sliceAt(x, y) {
		const cpu = Math.floor(y / this.row);
		if (cpu < 0 || cpu >= this.cpus.length || x < GUTTER) return null;
		const slices = this.cpus[cpu], time = this.timeAt(x);
		const reach = REACH * this.view.span / (this.width - GUTTER);
		const next = firstAfter(slices, time);
		const away = (i) => Math.max(slices.start[i] - time, time - slices.end[i], 0);
		const near = [next, next - 1].filter((i) => i >= 0 && i < slices.count && away(i) <= reach);
		near.sort((a, b) => away(a) - away(b));
		return near.length ? { cpu, i: near[0] } : null;
	}

	/** The slice of a CPU that is nearest to a time; null: it never ran anything. */
	sliceNear(cpu, time) {
		const slices = this.cpus[cpu];
		return slices.count ? { cpu, i: Math.min(firstAfter(slices, time), slices.count - 1) } : null;
	}

	taskName(task) {
		return this.data.tasks[task] ?? `task ${task}`;
	}

	/** A slice in words: task, where, from when, for how long. */
	describe({ cpu, i }) {
		const slices = this.cpus[cpu], task = slices.task[i];
		const paint = this.data.groups[this.data.groupOf[task]]?.paint ?? null;
		return [
			{ text: this.taskName(task), paint: paintName(paint) },
			`${this.policy.name}, CPU ${cpu}`,
			`starts ${exactTime(slices.start[i])}`,
			`runs ${exactTime(slices.end[i] - slices.start[i])}`,
		];
	}
}
