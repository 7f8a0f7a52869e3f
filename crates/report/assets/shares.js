// SPDX-License-Identifier: MIT OR Apache-2.0
// Share over time: the parts of the machine that groups of tasks got, stacked.

/** Outline of a group's steps between two edges per bucket. */
const stepsBetween = (lower, upper, x, y) => {
	let there = "", back = "";
	for (let i = 0; i < upper.length; i++) {
		there += `${i ? "L" : "M"}${x(i)} ${y(upper[i])}H${x(i + 1)}`;
		back = `L${x(i + 1)} ${y(lower[i])}H${x(i)}` + back;
	}
	return there + back + "Z";
};

const drawShares = (data, policy, width) => {
	const { from, to, bucket } = policy.shares, rows = policy.shareRows;
	const buckets = Math.max(0, ...rows.map((row) => row.length));
	const x = timeAxis(from, to, width), edge = (i) => Math.min(from + i * bucket, to);
	const y = { marks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: percentText(at, 0) })), place: (at) => clamp(at, 0, 1) };
	const { root, box } = frame({ width, height: 190, x, y, title: `Share over time under ${policy.name}` });
	const at = (i) => box.x(edge(i)).toFixed(1), level = (share) => box.y(share).toFixed(1);
	const sums = new Array(buckets).fill(0);
	rows.forEach((row, group) => {
		if (!row.some((share) => share > 0)) return;
		const lower = sums.slice();
		row.forEach((share, i) => (sums[i] += share));
		root.append(svg("path", {
			class: "area " + paintName(data.groups[group].paint),
			"data-group": group,
			d: stepsBetween(lower, sums, at, level),
		}));
	});
	root.append(...warmupLine(box, x, data.warmup));
	follow(root, box, (part) => {
		const i = clamp(Math.floor(part * (to - from) / bucket), 0, buckets - 1);
		const present = rows.map((row, group) => ({ share: row[i] ?? 0, group })).filter(({ share }) => share > 0);
		return [
			{ text: `${policy.name}, ${timeText(edge(i))} to ${timeText(edge(i + 1))}` },
			// As they lie above each other.
			...present.reverse().map(({ share, group }) => ({
				text: `${data.groups[group].name} ${percentText(share)}`,
				paint: paintName(data.groups[group].paint),
			})),
		];
	});
	return root;
};

const showShares = (plot, data) => {
	for (const policy of data.policies) policy.shareRows = policy.shares.rows.map(decodeShares);
	panels(plot, data.policies, (policy, width) => drawShares(data, policy, width));
};
