// SPDX-License-Identifier: MIT OR Apache-2.0
// Mouse, touch and keys on the timelines of a workload.

/** Pixels that a pointer may tremble without dragging. */
const STILL = 4;

/** Drags pan, two fingers zoom, a press without a drag chooses a slice. */
const handlePointers = (area, figure) => {
	const { view } = figure, down = new Map();
	let moved = false;
	const laneOf = (event) => figure.lanes.find((lane) => lane.canvas === event.target);
	const place = (event, lane) => {
		const box = lane.canvas.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	};
	const hit = (event) => {
		const lane = laneOf(event);
		if (!lane) return null;
		const { x, y } = place(event, lane), slice = lane.sliceAt(x, y);
		return slice && { lane, slice };
	};
	const middle = () => [...down.values()].reduce((sum, { x }) => sum + x / down.size, 0);
	const apart = () => {
		const [one, other] = [...down.values()];
		return Math.max(Math.abs(one.x - other.x), 20);
	};

	area.addEventListener("pointerdown", (event) => {
		if (!laneOf(event) || event.button !== 0) return;
		if (down.size === 0) moved = false;
		down.set(event.pointerId, { x: event.clientX, y: event.clientY });
		event.target.setPointerCapture(event.pointerId);
	});
	area.addEventListener("pointermove", (event) => {
		const before = down.get(event.pointerId);
		if (!before) {
			const found = event.pointerType === "touch" ? null : hit(event);
			if (found) tooltip.show(event.clientX, event.clientY, found.lane.describe(found.slice));
			else tooltip.hide();
			return;
		}
		if (!moved && Math.hypot(event.clientX - before.x, event.clientY - before.y) < STILL) return;
		moved = true;
		tooltip.hide();
		const lane = laneOf(event) ?? figure.lanes[0], length = lane.width - GUTTER;
		const from = middle(), wide = down.size > 1 ? apart() : 0;
		down.set(event.pointerId, { x: event.clientX, y: event.clientY });
		view.pan((from - middle()) / length);
		if (down.size > 1) view.zoom(wide / apart(), lane.timeAt(place({ clientX: middle(), clientY: 0 }, lane).x));
	});
	const up = (event) => {
		if (!down.delete(event.pointerId) || moved || event.type === "pointercancel") return;
		const found = hit(event);
		if (found) figure.choose(found.lane, found.slice);
		else figure.choose(null);
	};
	area.addEventListener("pointerup", up);
	area.addEventListener("pointercancel", up);
	area.addEventListener("pointerleave", tooltip.hide);
	area.addEventListener("dblclick", (event) => {
		const lane = laneOf(event);
		if (lane) view.zoom(event.shiftKey ? 4 : 1 / 4, lane.timeAt(place(event, lane).x));
	});
	area.addEventListener("wheel", (event) => {
		const lane = laneOf(event);
		if (!lane) return;
		// A line is about 16 pixels; a pinch on a touchpad is a wheel with Ctrl.
		const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
		if (event.ctrlKey || event.metaKey || event.altKey) {
			event.preventDefault();
			view.zoom(Math.exp(clamp(event.deltaY * unit, -200, 200) * 0.004), lane.timeAt(place(event, lane).x));
			return;
		}
		const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
		if (Math.abs(across) <= Math.abs(event.shiftKey ? 0 : event.deltaY) || view.isWhole) return;
		event.preventDefault();
		view.pan(across * unit / (lane.width - GUTTER));
	}, { passive: false });
};

const KEYS = {
	ArrowLeft: (figure, event) => figure.view.pan(event.shiftKey ? -0.8 : -0.15),
	ArrowRight: (figure, event) => figure.view.pan(event.shiftKey ? 0.8 : 0.15),
	ArrowUp: (figure) => figure.chooseRow(-1),
	ArrowDown: (figure) => figure.chooseRow(1),
	"+": (figure) => figure.view.zoom(1 / 2),
	"=": (figure) => figure.view.zoom(1 / 2),
	"-": (figure) => figure.view.zoom(2),
	0: (figure) => figure.view.show(figure.view.least, figure.view.most),
	Home: ({ view }) => view.show(view.least, view.least + view.span),
	End: ({ view }) => view.show(view.most - view.span, view.most),
	n: (figure) => figure.chooseNext(1),
	p: (figure) => figure.chooseNext(-1),
	Escape: (figure) => figure.choose(null),
};

const handleKeys = (area, figure) => {
	area.addEventListener("keydown", (event) => {
		const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
		if (!action) return;
		event.preventDefault();
		action(figure, event);
	});
};

/** The strip above: a press or a drag shows what is there. */
const handleOverview = (strip, figure) => {
	const { view } = figure;
	const go = (event) => {
		const box = strip.getBoundingClientRect();
		const middle = view.least + (event.clientX - box.left) / box.width * (view.most - view.least);
		view.show(middle - view.span / 2, middle + view.span / 2);
	};
	strip.addEventListener("pointerdown", (event) => {
		strip.setPointerCapture(event.pointerId);
		go(event);
	});
	strip.addEventListener("pointermove", (event) => {
		if (strip.hasPointerCapture(event.pointerId)) go(event);
	});
};
