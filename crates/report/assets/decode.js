// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the rows of numbers that src/html/encode.rs writes: LEB128 integers, in base64.

class Row {
	constructor(text) {
		const binary = atob(text);
		this.bytes = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++) this.bytes[i] = binary.charCodeAt(i);
		this.at = 0;
	}

	get more() {
		return this.at < this.bytes.length;
	}

	/** How many integers there are in all. */
	get count() {
		return this.bytes.reduce((count, byte) => count + (byte < 0x80), 0);
	}

	/** The next one. Doubles hold it exactly up to 2^53: 104 days of nanoseconds. */
	unsigned() {
		let value = 0, scale = 1, byte;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 0x7f) * scale;
			scale *= 0x80;
		} while (byte & 0x80);
		return value;
	}

	signed() {
		const value = this.unsigned();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

/** The slices of a CPU, in order of time. */
const decodeSlices = (text, from) => {
	const row = new Row(text), count = row.count / 3;
	const slices = {
		count,
		start: new Float64Array(count),
		end: new Float64Array(count),
		task: new Uint32Array(count),
	};
	for (let i = 0, at = from; i < count; i++) {
		slices.start[i] = at += row.unsigned();
		slices.end[i] = at += row.unsigned();
		slices.task[i] = row.unsigned();
	}
	return slices;
};

/** Parts of 1, a bucket after the other. */
const decodeShares = (text) => {
	const row = new Row(text), shares = [];
	for (let share = 0; row.more;) shares.push((share += row.signed()) / 1e4);
	return shares;
};

/** Bands in nanoseconds, null where there is none. */
const decodeBands = (text) => {
	const row = new Row(text), bands = [];
	for (let min = 0; row.more;) {
		if (row.unsigned() === 0) {
			bands.push(null);
			continue;
		}
		min += row.signed();
		bands.push({ min: min * 1e3, max: (min + row.unsigned()) * 1e3 });
	}
	return bands;
};
