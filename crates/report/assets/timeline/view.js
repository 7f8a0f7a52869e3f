// SPDX-License-Identifier: MIT OR Apache-2.0
// The stretch of time that the timelines of a workload show.

class View {
	/** No stretch is shorter: one microsecond. */
	static SHORTEST = 1e3;

	constructor(least, most) {
		this.least = this.from = least;
		this.most = this.to = Math.max(most, least + View.SHORTEST);
		this.changed = () => {};
	}

	get span() {
		return this.to - this.from;
	}

	get isWhole() {
		return this.from === this.least && this.to === this.most;
	}

	/** Shows from here to there, moved and shortened as far as it has to be. */
	show(from, to) {
		const span = clamp(to - from, View.SHORTEST, this.most - this.least);
		this.from = clamp(from, this.least, this.most - span);
		this.to = this.from + span;
		this.changed();
	}

	/** Shows `factor` as much time; what is at a time stays where it is. */
	zoom(factor, at = (this.from + this.to) / 2) {
		const span = clamp(this.span * factor, View.SHORTEST, this.most - this.least);
		const from = at - (at - this.from) * (span / this.span);
		this.show(from, from + span);
	}

	/** Moves by a part of what is shown. */
	pan(part) {
		const by = part * this.span;
		this.show(this.from + by, this.to + by);
	}

	/** Moves no further than needed for a time from here to there to be in sight. */
	reveal(start, end) {
		if (start >= this.from && end <= this.to) return;
		const margin = this.span * 0.1;
		const from = start < this.from || end - start > this.span ? start - margin : end + margin - this.span;
		this.show(from, from + this.span);
	}
}
