"use strict";
// Measures the page as it is laid out: what overflows, which texts are small or faint, and which buttons cover a text.
(() => {
  const root = document.documentElement;
  const seen = { overflow: root.scrollWidth - root.clientWidth, unhinted: [], small: [], faint: [], covered: [], cut: [] };
  const named = (node) => `${node.nodeName.toLowerCase()} ${JSON.stringify(node.textContent.trim().slice(0, 30))}`;
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => channels(color).slice(0, 3).reduce((sum, v, i) => {
    const share = v / 255;
    return sum + [0.2126, 0.7152, 0.0722][i] * (share > 0.04045 ? ((share + 0.055) / 1.055) ** 2.4 : share / 12.92);
  }, 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  // behind returns the color of the nearest background that is not transparent. A figure begins with its paper.
  const behind = (node) => {
    const paper = node.closest("svg")?.querySelector("path");
    if (paper) return getComputedStyle(paper).fill;
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((channels(color)[3] ?? 1) === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim() !== "");
    if (!own || !node.checkVisibility() || node.closest("script, style, .skip") || node.nodeName === "title") continue;
    const style = getComputedStyle(node), figure = node.ownerSVGElement;
    const size = parseFloat(style.fontSize) * (figure ? Math.hypot(node.getScreenCTM().a, node.getScreenCTM().b) : 1);
    const color = figure ? style.fill : style.color;
    if (size < (figure ? 10.95 : 12)) seen.small.push(`${named(node)} ${size.toFixed(1)} px`);
    if (contrast(color, behind(node)) < 4.5) seen.faint.push(`${named(node)} ${contrast(color, behind(node)).toFixed(1)}`);
  }
  for (const area of document.querySelectorAll(".scroll")) {
    if (area.checkVisibility() && area.scrollWidth > area.clientWidth + 1) {
      seen.cut.push(area.getAttribute("aria-label") ?? area.closest("figure").dataset.name);
      if (!/scroll/.test(getComputedStyle(area, "::before").content)) seen.unhinted.push(seen.cut.at(-1));
    }
  }
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  for (const button of document.querySelectorAll(".tools button")) {
    if (!button.checkVisibility()) continue;
    for (const text of button.closest("figure").querySelectorAll("svg text")) {
      if (overlap(button.getBoundingClientRect(), text.getBoundingClientRect())) seen.covered.push(named(text));
    }
  }
  return seen;
})()
