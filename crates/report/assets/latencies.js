// SPDX-License-Identifier: MIT OR Apache-2.0
// Distributions of times: a curve for each policy, both axes logarithmic. To the right, each
// step leaves a tenth of the times beyond: 0, 90, 99, 99.9 percent …

/** Policies beyond those that have colours get them again, dashed. */
const DASHES = ["", "5 3", "2 2"];
const PAINTS = 8;

const lineOf = (index) => ({
	class: "line l" + (index % PAINTS),
	"stroke-dasharray": DASHES[Math.floor(index / PAINTS) % DASHES.length],
	"data-policy": index,
});

/** Steps to the right: how many times a tenth is left beyond a percentile. */
const stepsRight = (percentile) => -Math.log10(1 - percentile / 100);

const percentileAxis = (steps) => {
	const marks = [{ at: 0, text: "0" }, { at: stepsRight(50), text: "50" }];
	for (let i = 1; i <= steps; i++) marks.push({ at: i, text: i < 2 ? "90" : "99" + (i > 2 ? "." + "9".repeat(i - 2) : "") });
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

/** Points of a policy's curve as steps to the right and nanoseconds. */
const curveOf = (policy, name) => {
	const found = policy.latencies.find((distribution) => distribution.name === name);
	if (!found || !found.points.length) return null;
	// The greatest of n is all that is known of the last n-th.
	const end = Math.log10(Math.max(found.count, 2));
	return found.points.map(([percentile, ns]) => ({ at: Math.min(stepsRight(percentile), end), ns }));
};

const drawLatency = (data, name, width) => {
	const curves = data.policies.map((policy) => curveOf(policy, name));
	const points = curves.filter(Boolean).flat();
	const positive = points.map(({ ns }) => ns).filter((ns) => ns > 0);
	const steps = clamp(Math.ceil(Math.max(...points.map(({ at }) => at))), 1, 7);
	// Times of 0 have no logarithm.
	const least = Math.max(Math.min(...positive, 1e9), 10);
	const y = durationAxis(least, Math.max(...positive, 100), points.some(({ ns }) => ns < least));
	const x = percentileAxis(steps);
	const height = clamp(width * 0.7, 240, 360);
	const { root, box } = frame({ width, height, x, y, title: `Percentiles of ${name}` });
	curves.forEach((curve, index) => {
		if (!curve) return;
		const places = curve.map(({ at, ns }) => [box.x(Math.min(at, steps)).toFixed(1), box.y(ns).toFixed(1)]);
		const [x, y] = places.at(-1), { class: name, "data-policy": policy } = lineOf(index);
		root.append(
			svg("path", { ...lineOf(index), d: "M" + places.map((place) => place.join(" ")).join("L") }),
			// The longest of all.
			svg("circle", { class: name, "data-policy": policy, cx: x, cy: y, r: 2 }),
		);
	});
	follow(root, box, (part) => {
		const at = part * steps;
		const left = 10 ** -at;
		const present = curves.map((curve, index) => ({ index, point: curve?.find((point) => point.at >= at - 1e-9) }));
		const sorted = present.filter(({ point }) => point).sort((a, b) => a.point.ns - b.point.ns);
		return [
			{ text: `${percentText(1 - left, clamp(Math.ceil(at) - 1, 1, 6))} of ${name} within` },
			...sorted.map(({ index, point }) => ({
				text: `${timeText(point.ns)} ${data.policies[index].name}`,
				paint: "p" + (index % PAINTS),
			})),
		];
	});
	return root;
};

/** Names and lines of the policies; a press brings one out. */
const policyLegend = (plot, data) => {
	const legend = html("div", { class: "legend", role: "group", "aria-label": "Policies to bring out" });
	let chosen = null;
	const show = () => {
		for (const line of plot.querySelectorAll("[data-policy]")) {
			line.classList.toggle("faded", chosen !== null && line.dataset.policy !== chosen);
		}
		for (const item of legend.children) item.setAttribute("aria-pressed", item.dataset.choice === chosen);
	};
	data.policies.forEach((policy, index) => {
		const { "data-policy": _, ...look } = lineOf(index);
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
	plot.addEventListener("redrawn", show);
};

const showLatencies = (plot, data) => {
	policyLegend(plot, data);
	const names = [...new Set(data.policies.flatMap((policy) => policy.latencies.filter(({ count }) => count).map(({ name }) => name)))];
	panels(plot, names.map((name) => ({ name })), ({ name }, width) => drawLatency(data, name, width), "panels wide");
};
