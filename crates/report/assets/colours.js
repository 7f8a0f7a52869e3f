// SPDX-License-Identifier: MIT OR Apache-2.0
// Colours of the style sheet for what is drawn pixel by pixel.

/** Red, green and blue of a custom property `#rrggbb`. */
const colourOf = (style, name) => {
	const digits = style.getPropertyValue(name).trim().slice(1);
	return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
};

const mixed = (one, other, part) => one.map((level, i) => level + (other[i] - level) * part);

/** A pixel of canvas image data. */
const pixel = ([red, green, blue]) =>
	((0xff << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;

const paintName = (paint) => (paint === null ? "rest" : "p" + paint);

/** Instances of a task differ a little, so that neighbours are told apart. */
const TINTS = [0, 0.22, 0.11];

/**
 * Colours for a timeline: of every task and every group, in which all groups but `focus`, if
 * that is one, fade into the background.
 */
const timelineColours = (data, focus) => {
	const style = getComputedStyle(document.documentElement);
	const ground = colourOf(style, "--idle");
	const faded = (colour, group) => (focus === null || focus === group ? colour : mixed(colour, ground, 0.85));
	const groups = data.groups.map(({ paint }, group) => faded(colourOf(style, "--" + paintName(paint)), group));
	const met = data.groups.map(() => 0);
	const tasks = data.groupOf.map((group) => mixed(groups[group], ground, TINTS[met[group]++ % TINTS.length]));
	return {
		ground,
		groups,
		tasks,
		inks: data.groups.map(({ paint }) => style.getPropertyValue(paint === null ? "--rest-ink" : "--i" + paint)),
		text: style.getPropertyValue("--muted"),
		mark: style.getPropertyValue("--text"),
		line: style.getPropertyValue("--line"),
		font: style.getPropertyValue("font-family"),
	};
};
