// SPDX-License-Identifier: MIT OR Apache-2.0
// A few words near the pointer.

const tooltip = (() => {
	const box = document.createElement("div");
	box.className = "tooltip";
	box.hidden = true;
	document.body.append(box);

	return {
		/** Lines of text near a place in the window; the first one is the title. */
		show(x, y, lines) {
			box.replaceChildren(...lines.map((line) => {
				const row = document.createElement("div");
				if (line.paint) {
					const swatch = document.createElement("span");
					swatch.className = "swatch " + line.paint;
					row.append(swatch);
				}
				row.append(line.text ?? line);
				return row;
			}));
			box.hidden = false;
			// Near the pointer, on the side that has room.
			const { width, height } = box.getBoundingClientRect();
			const room = document.documentElement.clientWidth;
			const left = x + 14 + width < room ? x + 14 : Math.max(4, x - 14 - width);
			const top = y + 14 + height < innerHeight ? y + 14 : Math.max(4, y - 14 - height);
			box.style.left = left + "px";
			box.style.top = top + "px";
		},

		hide() {
			box.hidden = true;
		},
	};
})();

addEventListener("scroll", tooltip.hide, { passive: true });
