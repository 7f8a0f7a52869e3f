// SPDX-License-Identifier: MIT OR Apache-2.0
// Distributions of times: a line of steps for each policy, both axes logarithmic. To the right,
// each mark leaves a tenth of the times beyond: 0, 90, 99, 99.9 percent …

/** Policies beyond those that have colours get them again, dashed. */
const DASHES = ["", "5 3", "2 2"];
const PAINTS = 8;
/** With more policies, the range of the seeds is drawn for a policy that is brought out only. */
const MOST_RANGES = 6;
/** Percentiles that have a dot. */
const DOTS = [50, 95, 99];

/** The paint of a policy: the baseline has the colour of words, and comes first. */
const policyPaint = (data, index) => {
	if (data.policies[index].baseline) return { paint: "base", round: 0 };
	const place = index - (data.policies[0].baseline ? 1 : 0);
	return { paint: "q" + (place % PAINTS), round: Math.floor(place / PAINTS) };
};

const lineOf = (data, index) => {
	const { paint, round } = policyPaint(data, index);
	return { class: "line l-" + paint, "stroke-dasharray": DASHES[round % DASHES.length], "data-policy": index };
};

/** Steps to the right: how many times a tenth is left beyond a percentile. */
const stepsRight = (percentile) => -Math.log10(1 - percentile / 100);

const percentileAxis = (steps) => {
	const marks = [0, 50, 90, 95].map((at) => ({ at: stepsRight(at), text: String(at) })).filter(({ at }) => at < steps);
	for (let i = 2; i <= steps; i++) marks.push({ at: i, text: "99" + (i > 2 ? "." + "9".repeat(i - 2) : "") });
	if (steps === 1) marks.push({ at: 1, text: "90" });
	return { marks, place: (at) => at / steps, title: "percentile [%]" };
};

const durationAxis = (least, greatest, isCut) => {
	const from = Math.floor(Math.log10(least)), to = Math.max(Math.ceil(Math.log10(greatest)), from + 1);
	const marks = [];
	for (let i = from; i <= to; i++) marks.push({ at: 10 ** i, text: stepTexts([10 ** i], 10 ** i)[0] });
	// What is less lies on the lower edge too.
	if (isCut) marks[0].text = "≤" + GAP + marks[0].text;
	return { marks, place: (ns) => (Math.log10(Math.max(ns, 10 ** from)) - from) / (to - from) };
};

/** Points of a policy's curve: percentile, steps to the right, and nanoseconds. */
const curveOf = (policy, name) => {
	const found = policy.latencies.find((distribution) => distribution.name === name);
	if (!found || !found.points.length) return null;
	// The greatest of n is all that is known of the last n-th.
	const end = Math.log10(Math.max(found.count, 2));
	return found.points.map(([percentile, ns, least, greatest]) => (
		{ percentile, at: Math.min(stepsRight(percentile), end), ns, least, greatest }));
};

/** A line of steps: up to each point, its value holds. */
const stepLine = (points, x, y) => {
	const rest = points.slice(1).map((point) => `V${y(point)}H${x(point)}`);
	return `M${x(points[0])} ${y(points[0])}` + rest.join("");
};

/** The area between the least and the greatest of the seeds. */
const stepRange = (points, x, least, greatest) => {
	let back = "";
	for (let i = points.length - 1; i > 0; i--) back += `V${least(points[i])}H${x(points[i - 1])}`;
	return stepLine(points, x, greatest) + back + "Z";
};

const drawLatency = (data, name, width) => {
	const curves = data.policies.map((policy) => curveOf(policy, name));
	const points = curves.filter(Boolean).flat();
	const positive = points.flatMap(({ ns, least, greatest }) => [ns, least, greatest]).filter((ns) => ns > 0);
	const steps = clamp(Math.ceil(Math.max(...points.map(({ at }) => at))), 1, 7);
	// Times of 0 have no logarithm.
	const least = Math.max(Math.min(...positive, 1e9), 10);
	const y = durationAxis(least, Math.max(...positive, 100), points.some(({ ns }) => ns < least));
	const x = percentileAxis(steps);
	const height = clamp(width * 0.7, 240, 360);
	const { root, box } = frame({ width, height, x, y, title: `Percentiles of ${name}` });
	const across = ({ at }) => box.x(Math.min(at, steps)).toFixed(1);
	const up = (key) => (point) => box.y(point[key]).toFixed(1);
	curves.forEach((curve, index) => {
		if (!curve) return;
		const { paint } = policyPaint(data, index);
		const d = stepRange(curve, across, up("least"), up("greatest"));
		root.append(svg("path", { class: "range-of-seeds " + paint, "data-policy": index, d }));
	});
	curves.forEach((curve, index) => {
		if (!curve) return;
		const { paint } = policyPaint(data, index);
		root.append(svg("path", { ...lineOf(data, index), d: stepLine(curve, across, up("ns")) }));
		const marked = curve.filter(({ percentile }, i) => DOTS.includes(percentile) || i === curve.length - 1);
		for (const point of marked) {
			root.append(svg("circle", { class: paint, "data-policy": index, cx: across(point), cy: up("ns")(point), r: 2.5 }));
		}
	});
	follow(root, box, (part) => {
		const at = part * steps;
		const left = 10 ** -at;
		const present = curves.map((curve, index) => ({ index, point: curve?.find((point) => point.at >= at - 1e-9) }));
		const sorted = present.filter(({ point }) => point).sort((a, b) => a.point.ns - b.point.ns);
		const range = ({ least, greatest }) => (least === greatest ? "" : ` (${timeText(least)} to ${timeText(greatest)})`);
		return [
			{ text: `${percentText(1 - left, clamp(Math.ceil(at) - 1, 1, 6))} of ${name} within` },
			...sorted.map(({ index, point }) => ({
				text: `${timeText(point.ns)} ${data.policies[index].name}${range(point)}`,
				paint: policyPaint(data, index).paint,
			})),
		];
	});
	return root;
};

/** Names and lines of the policies; a press brings one out. */
const policyLegend = (plot, data) => {
	const legend = html("div", { class: "legend", role: "group", "aria-label": "Policies to bring out" });
	const hasRanges = data.policies.length <= MOST_RANGES;
	let chosen = null;
	const show = () => {
		for (const line of plot.querySelectorAll("[data-policy]")) {
			line.classList.toggle("faded", chosen !== null && line.dataset.policy !== chosen);
		}
		for (const range of plot.querySelectorAll(".range-of-seeds")) {
			range.classList.toggle("absent", chosen === null ? !hasRanges : range.dataset.policy !== chosen);
		}
		for (const item of legend.children) item.setAttribute("aria-pressed", item.dataset.choice === chosen);
	};
	data.policies.forEach((policy, index) => {
		const { "data-policy": _, ...look } = lineOf(data, index);
		const sample = svg("svg", { class: "sample", viewBox: "0 0 22 8", "aria-hidden": "true" },
			svg("path", { ...look, d: "M0 4H22" }));
		const item = html("button", { type: "button", "data-choice": index, "aria-pressed": "false" }, sample, policy.name);
		item.addEventListener("click", () => {
			chosen = chosen === item.dataset.choice ? null : item.dataset.choice;
			show();
		});
		legend.append(item);
	});
	plot.append(legend);
	if (!hasRanges) plot.append(html("p", { class: "hint" }, "Choose a policy to see the range of its seeds."));
	plot.addEventListener("redrawn", show);
	return show;
};

const showLatencies = (plot, data) => {
	const show = policyLegend(plot, data);
	const names = [...new Set(data.policies.flatMap((policy) => policy.latencies.filter(({ count }) => count).map(({ name }) => name)))];
	panels(plot, names.map((name) => ({ name })), ({ name }, width) => drawLatency(data, name, width), "panels wide");
	show();
};
