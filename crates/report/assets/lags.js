// SPDX-License-Identifier: MIT OR Apache-2.0
// Lag over time: for each group a band from the least to the greatest lag of its tasks.

/** Outlines of a band, one for each stretch without gaps. */
const bandPath = (bands, x, y) => {
	let path = "", there = "", back = "";
	const finish = () => {
		if (there) path += "M" + there.slice(1) + back + "Z";
		there = back = "";
	};
	bands.forEach((band, i) => {
		if (!band) return finish();
		there += `L${x(i)} ${y(band.max)}H${x(i + 1)}`;
		back = `L${x(i + 1)} ${y(band.min)}H${x(i)}` + back;
	});
	finish();
	return path;
};

const extent = (policies) => {
	let min = 0, max = 0;
	for (const policy of policies) {
		for (const band of policy.lagRows.flat()) {
			if (!band) continue;
			min = Math.min(min, band.min);
			max = Math.max(max, band.max);
		}
	}
	return min === max ? { min: -1e3, max: 1e3 } : { min, max };
};

/** Where a scale for all policies turns from linear to logarithmic: so that the least is still seen. */
const lagKnee = (policies) => {
	const sizes = policies.map((policy) => extent([policy])).map(({ min, max }) => Math.max(-min, max));
	const knee = 10 ** Math.floor(Math.log10(Math.min(...sizes) / 10));
	// Ten powers of ten would leave none of them room.
	return Math.max(knee, 10 ** Math.floor(Math.log10(Math.max(...sizes)) - 5), 1e3);
};

/** Linear up to about the knee, logarithmic beyond. */
const symlogAxis = ({ min, max }, knee) => {
	const level = (at) => Math.asinh(at / knee);
	const from = level(min < 0 ? -roundUp(-min) : 0), to = level(max > 0 ? roundUp(max) : 0);
	const marks = [{ at: 0, text: "0" }];
	// Powers of ten, as many as there is room for.
	const every = Math.ceil((to - from) / Math.log(10) / 8);
	for (const sign of [1, -1]) {
		for (let i = 0; ; i++) {
			const at = sign * knee * 10 ** i;
			if (level(at) > to + 1e-9 || level(at) < from - 1e-9) break;
			if (i % every === 0) marks.push({ at, text: stepTexts([at], Math.abs(at))[0] });
		}
	}
	return { marks, place: (at) => (level(at) - from) / (to - from) };
};

const lagAxis = ({ min, max }) => {
	const { step, marks } = roundNumbers(min, max, 5, 1);
	// The axis ends at the next marks outside.
	const from = Math.floor(min / step + 1e-9) * step, to = Math.ceil(max / step - 1e-9) * step;
	const all = [...new Set([from, ...marks, to])];
	const texts = stepTexts(all, step);
	return { marks: all.map((at, i) => ({ at, text: texts[i] })), place: (at) => (at - from) / (to - from) };
};

const drawLags = (data, policy, width, y) => {
	const { from, to, bucket } = policy.lags, rows = policy.lagRows;
	const buckets = Math.max(0, ...rows.map((row) => row.length));
	const x = timeAxis(from, to, width), edge = (i) => Math.min(from + i * bucket, to);
	const { root, box } = frame({ width, height: 210, x, y, title: `Lag over time under ${policy.name}` });
	const at = (i) => box.x(edge(i)).toFixed(1), level = (ns) => box.y(ns).toFixed(1);
	rows.forEach((bands, group) => {
		const d = bandPath(bands, at, level);
		if (d) root.append(svg("path", { class: "band " + paintName(data.groups[group].paint), "data-group": group, d }));
	});
	root.append(...warmupLine(box, x, data.warmup));
	follow(root, box, (part) => {
		const i = clamp(Math.floor(part * (to - from) / bucket), 0, buckets - 1);
		const present = rows.map((row, group) => ({ band: row[i], group })).filter(({ band }) => band);
		present.sort((a, b) => b.band.max - a.band.max);
		return [
			{ text: `${policy.name}, ${timeText(edge(i))} to ${timeText(edge(i + 1))}` },
			...present.map(({ band: { min, max }, group }) => ({
				text: `${data.groups[group].name} ` + (timeText(min) === timeText(max) ? timeText(min) : `${timeText(min)} to ${timeText(max)}`),
				paint: paintName(data.groups[group].paint),
			})),
		];
	});
	return root;
};

const showLags = (plot, data) => {
	for (const policy of data.policies) policy.lagRows = policy.lags.rows.map(decodeBands);
	const common = symlogAxis(extent(data.policies), lagKnee(data.policies));
	let own = false, drawn = [];
	const toggle = button("linear, own scale for each policy", "Linear scale, an own one for each policy", () => {
		own = !own;
		toggle.setAttribute("aria-pressed", own);
		for (const drawing of drawn) drawing.draw(true);
	});
	toggle.setAttribute("aria-pressed", "false");
	plot.append(html("div", { class: "tools" }, toggle));
	drawn = panels(plot, data.policies, (policy, width) =>
		drawLags(data, policy, width, own ? lagAxis(extent([policy])) : common));
};
