"use strict";
// The page is complete without this script. It sorts tables, shows the value of a point at once, zooms figures, and says what scrolls.

// sortable gives each column of a table a button that sorts by it, first ascending.
function sortable(table) {
  const body = table.tBodies[0];
  const value = (row, i) => {
    const cell = row.cells[i];
    const number = Number(cell.dataset.v ?? cell.textContent);
    return Number.isNaN(number) ? cell.textContent : number;
  };
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1; // numbers before what was not measured
    if (typeof b === "number") return 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  for (const [i, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => order(value(a, i), value(b, i)) * (descending ? -1 : 1));
      body.append(...rows);
    });
  }
}

const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);

// show shows the value of a spot beside it.
function show(spot) {
  hide();
  spot.classList.add("on");
  tip.textContent = spot.dataset.text;
  tip.hidden = false;
  const at = spot.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(at.right + 6, innerWidth - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, at.top - tip.offsetHeight - 4) + "px";
}

function hide() {
  for (const on of document.querySelectorAll(".spots .on")) on.classList.remove("on");
  tip.hidden = true;
}

// readable shows the value of the nearest spot under the pointer, and of one spot after the other with the arrow keys.
function readable(figure) {
  const svg = figure.querySelector("svg");
  const area = figure.querySelector(".scroll");
  const spots = [...svg.querySelectorAll(".spots circle")];
  for (const spot of spots) { // the title would show a second, later tooltip
    const title = spot.querySelector("title");
    spot.dataset.text = title.textContent;
    title.remove();
  }
  const reach = 24; // pixels from the pointer
  svg.addEventListener("pointermove", (event) => {
    let best = null, least = reach;
    for (const spot of spots) {
      const box = spot.getBoundingClientRect();
      const distance = Math.hypot(event.clientX - (box.left + box.right) / 2, event.clientY - (box.top + box.bottom) / 2);
      if (distance < least) [best, least] = [spot, distance];
    }
    if (best) show(best); else hide();
  });
  svg.addEventListener("pointerleave", hide);
  let current = -1;
  area.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || spots.length === 0) return;
    event.preventDefault();
    current = (current + step + spots.length) % spots.length;
    show(spots[current]);
  });
  area.addEventListener("blur", hide);
}

// zoomable adds buttons, keys, the wheel and dragging to a figure, which change the part that is shown.
function zoomable(figure) {
  const svg = figure.querySelector("svg");
  const area = figure.querySelector(".scroll");
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const whole = { x: 0, y: 0, width, height };
  let part = { ...whole };
  const apply = () => {
    part.width = Math.min(part.width, whole.width);
    part.height = Math.min(part.height, whole.height);
    part.x = Math.min(Math.max(part.x, 0), whole.width - part.width);
    part.y = Math.min(Math.max(part.y, 0), whole.height - part.height);
    svg.setAttribute("viewBox", [part.x, part.y, part.width, part.height].join(" "));
    hide();
  };
  // zoom changes the scale around a point, given as shares of the figure's width and height.
  const zoom = (factor, across = 0.5, down = 0.5) => {
    const width = Math.max(part.width / factor, whole.width / 16);
    const height = width * whole.height / whole.width;
    part = { x: part.x + (part.width - width) * across, y: part.y + (part.height - height) * down, width, height };
    apply();
  };
  const reset = () => { part = { ...whole }; apply(); };
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [text, label, act] of [["+", "Zoom in", () => zoom(1.5)], ["−", "Zoom out", () => zoom(1 / 1.5)], ["1:1", "Show all", reset]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    tools.append(button);
  }
  figure.prepend(tools);
  area.addEventListener("keydown", (event) => {
    const act = { "+": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": reset }[event.key];
    if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); }
  });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.25 : 1 / 1.25, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }, { passive: false });
  svg.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1 || part.width === whole.width) return;
    const scale = part.width / svg.getBoundingClientRect().width;
    part.x -= event.movementX * scale;
    part.y -= event.movementY * scale;
    apply();
  });
}

// Tables and figures that are wider than their place get a hint.
const fitting = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
});
document.querySelectorAll(".scroll").forEach((area) => fitting.observe(area));

// A link opens the details that it leads to. On paper, everything is open.
const unfold = () => {
  for (let at = document.getElementById(decodeURIComponent(location.hash.slice(1))); at; at = at.parentElement) {
    if (at.nodeName === "DETAILS") at.open = true;
  }
};
addEventListener("hashchange", unfold);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => { folded.open = true; }));
unfold();

document.querySelectorAll("table").forEach(sortable);
document.querySelectorAll("figure").forEach(readable);
document.querySelectorAll("figure.zoom").forEach(zoomable);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
