"use strict";
// Uses the page as a reader does, and replaces it by what happened, as JSON.
{ // the names of the page's script stay its own
const said = { errors: [] };
addEventListener("error", (event) => said.errors.push(event.message));
addEventListener("securitypolicyviolation", (event) => said.errors.push(event.violatedDirective));
const table = document.querySelector("#s1-1 table");
const names = () => [...table.tBodies[0].rows].map((row) => row.textContent).join("|");
const button = table.tHead.querySelectorAll("button")[2];
const asWritten = names();
button.click();
button.click();
said.sorted = button.parentElement.getAttribute("aria-sort");
said.reordered = names() !== asWritten;

const press = (area, key) => area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const tip = document.getElementById("tip");
const figure = document.querySelector("figure");
press(figure.querySelector(".scroll"), "ArrowRight");
said.byKey = tip.hidden ? "" : tip.textContent;
press(figure.querySelector(".scroll"), "Escape");
said.hidden = tip.hidden;
const spot = figure.querySelector(".spots circle").getBoundingClientRect();
figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove", { clientX: spot.left + 3, clientY: spot.top + 3 }));
said.byPointer = tip.hidden ? "" : tip.textContent;

const zoomed = document.querySelector("figure.zoom");
const svg = zoomed.querySelector("svg");
const whole = svg.getAttribute("viewBox");
const [closer, , all] = zoomed.querySelectorAll(".tools button");
closer.click();
said.zoomed = svg.getAttribute("viewBox") !== whole;
all.click();
const box = (text) => text.split(" ").map(Number).join(" ");
said.reset = box(svg.getAttribute("viewBox")) === box(whole);
said.wide = document.documentElement.scrollWidth > innerWidth; // the page itself must not scroll sideways

const verdict = document.createElement("pre");
verdict.id = "verdict";
verdict.textContent = JSON.stringify(said);
document.body.replaceChildren(verdict);
}
