// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers in words, and round numbers for axes.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const GAP = "\u00a0";

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

const withMinus = (value, text) => (value < 0 && /[1-9]/.test(text) ? "−" : "") + text;

/** A time with three significant digits: 12.3 µs. */
const timeText = (ns) => {
	const size = Math.abs(ns);
	const [scale, name] = UNITS.find(([scale]) => size / scale >= 0.9995) ?? UNITS[3];
	const value = size / scale;
	const decimals = scale === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	return withMinus(ns, value.toFixed(decimals)) + GAP + name;
};

/** A time exact to the nanosecond: 1.234567891 s. */
const exactTime = (ns) => {
	const [scale, name] = UNITS.find(([scale]) => ns >= scale) ?? UNITS[3];
	const digits = Math.round(Math.log10(scale));
	const fraction = String(ns % scale).padStart(digits, "0").replace(/0+$/, "");
	return Math.floor(ns / scale) + (digits && fraction ? "." + fraction : "") + GAP + name;
};

const percentText = (part, decimals = 1) =>
	withMinus(part, Math.abs(part * 100).toFixed(decimals)) + GAP + "%";

/** The least 1, 2 or 5 times a power of ten that is not below. */
const roundUp = (value) => {
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 5, 10].map((m) => m * power).find((m) => m >= value * (1 - 1e-9)) ?? 10 * power;
};

/** Multiples of a round step between two numbers, not more than `most`. */
const roundNumbers = (from, to, most, least = 0) => {
	const step = Math.max(roundUp((to - from) / Math.max(most, 1)), least);
	const marks = [];
	// Counted, as adding up steps would add up their errors.
	for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) marks.push(i * step);
	return { step, marks };
};

/** Text for times that are multiples of a step: all in one unit, as short as they can be. */
const stepTexts = (times, step) => {
	const largest = Math.max(...times.map(Math.abs), step);
	const decimals = (scale) => Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
	const fits = ([scale]) => scale <= largest && decimals(scale) <= 2;
	const [scale, name] = UNITS.find(fits) ?? UNITS[3];
	return times.map((ns) => {
		if (ns === 0) return "0";
		const text = (Math.abs(ns) / scale).toFixed(decimals(scale)).replace(/(\.\d*?)0+$/, "$1");
		return withMinus(ns, text.replace(/\.$/, "")) + GAP + name;
	});
};

/**
 * Marks for an axis of times with room for so many. Far from the start, texts count from a
 * `base`, as they would be too long otherwise.
 */
const timeMarks = (from, to, most) => {
	const { step, marks } = roundNumbers(from, to, most, 1);
	const coarse = 1e3 ** Math.ceil(Math.log10((to - from) * 10) / 3 - 1e-9);
	const base = from / step > 1e4 ? Math.floor(from / coarse) * coarse : 0;
	const texts = stepTexts(marks.map((at) => at - base), step);
	return {
		base,
		marks: marks.map((at, i) => ({ at, text: (base && at > base ? "+" : "") + texts[i] })),
	};
};
