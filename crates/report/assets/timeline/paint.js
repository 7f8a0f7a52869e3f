// SPDX-License-Identifier: MIT OR Apache-2.0
// Paints slices into pixels. The time that it takes grows with the slices in sight, not with
// what is drawn: however many there are, a column of pixels is painted once.

/** Place of the first slice that ends after a time. */
const firstAfter = (slices, time) => {
	let low = 0, high = slices.count;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (slices.end[middle] > time) high = middle;
		else low = middle + 1;
	}
	return low;
};

/** Columns of pixels that several slices share. */
class Column {
	constructor(pixels, width, height, colours, groupOf) {
		Object.assign(this, { pixels, width, height, colours, groupOf });
		this.at = -1;
		this.time = new Float64Array(colours.groups.length);
		this.clear();
	}

	clear() {
		this.pieces = this.covered = this.red = this.green = this.blue = 0;
		this.time.fill(0);
	}

	/** A task covers a part of a column. Columns come in order. */
	add(at, part, task) {
		if (at !== this.at) {
			this.flush();
			this.at = at;
		}
		const [red, green, blue] = this.colours.tasks[task] ?? this.colours.ground;
		this.pieces++;
		this.covered += part;
		this.red += part * red;
		this.green += part * green;
		this.blue += part * blue;
		this.time[this.groupOf[task]] += part;
	}

	/** One or two slices blend into each other; more of them divide the column. */
	flush() {
		if (this.pieces === 0) return;
		if (this.pieces <= 2) this.blend();
		else this.divide();
		this.clear();
	}

	blend() {
		const { ground } = this.colours, rest = Math.max(0, 1 - this.covered);
		const colour = pixel([this.red + rest * ground[0], this.green + rest * ground[1], this.blue + rest * ground[2]].map((level) => Math.min(level, 255)));
		for (let y = 0; y < this.height; y++) this.pixels[y * this.width + this.at] = colour;
	}

	divide() {
		let y = this.height, sum = 0;
		for (let group = 0; group < this.time.length; group++) {
			if (this.time[group] === 0) continue;
			sum += this.time[group];
			const top = Math.max(0, this.height - Math.round(sum * this.height));
			const colour = pixel(this.colours.groups[group]);
			while (y > top) this.pixels[--y * this.width + this.at] = colour;
		}
	}
}

/**
 * Paints one CPU's row. Returns the slices that are wide enough for a name, as their places,
 * and where they are: `[place, left, right]`.
 */
const paintRow = (pixels, width, height, slices, view, colours, groupOf, widest) => {
	pixels.fill(pixel(colours.ground));
	const column = new Column(pixels, width, height, colours, groupOf);
	const scale = width / view.span, wide = [];
	for (let i = firstAfter(slices, view.from); i < slices.count && slices.start[i] < view.to; i++) {
		const left = Math.max((slices.start[i] - view.from) * scale, 0);
		const right = Math.min((slices.end[i] - view.from) * scale, width);
		const first = Math.floor(left), last = Math.floor(right), task = slices.task[i];
		if (first >= width) break;
		if (first === last) {
			column.add(first, right - left, task);
			continue;
		}
		column.add(first, first + 1 - left, task);
		if (last > first + 1) {
			const colour = colours.tasks[task] ?? colours.ground;
			const whole = pixel(colour), edge = pixel(mixed(colour, colours.ground, 0.5));
			for (let y = 0, row = 0; y < height; y++, row += width) {
				pixels.fill(whole, row + first + 1, row + last);
				// A slice that follows another one directly has an edge.
				if (last - first > 5) pixels[row + first + 1] = edge;
			}
		}
		if (last < width && right > last) column.add(last, right - last, task);
		if (right - left >= widest) wide.push([i, left, right]);
	}
	column.flush();
	return wide;
};
