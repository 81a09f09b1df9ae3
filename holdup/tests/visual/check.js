// What is wrong with the layout as it stands: texts that overlap, that are cut off, or that leave
// the page. A list of sentences, empty for a clean page. Computed from the boxes of the texts
// themselves, so that it needs no picture to compare with.

// Cut by design: the tokens run out of their window, a lane's sentence ends with an ellipsis and
// stands whole in the lane's evidence.
const CUT_BY_DESIGN = ".tokens, .because";
// What scrolls for itself: it may be longer than its box, and what is out of sight overlaps nothing.
const SCROLLS = new Set(["auto", "scroll"]);
// Layers that may lie over the page while it scrolls: texts of different layers are not compared.
const LAYERS = ".top, .answer, .stories, .side, .room main, .presenter";
// Inline boxes are higher than their letters: what two lines share of that is no overlap.
const SLACK = 0.2;
const PIXEL = 1.5;

const root = document.documentElement;
const faults = [];
const shorten = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);
const name = (element) => {
  const own = element.className && typeof element.className === "string" ? element.className : "";
  return element.tagName.toLowerCase() + (own ? "." + own.trim().replace(/\s+/g, ".") : "");
};

function scrollerOf(element) {
  for (let at = element; at && at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (SCROLLS.has(style.overflowX) || SCROLLS.has(style.overflowY)) return at;
  }
  return null;
}

// Every text that is to be seen, with its element and its box.
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  const element = node.parentElement;
  if (!node.data.trim() || element.closest("script, noscript, style, option")) continue;
  if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    if (box.width > 0 && box.height > 0) texts.push({ node, element, box, text: shorten(node.data) });
  }
}

if (root.scrollWidth > root.clientWidth + 1) {
  faults.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
}

for (const { element, box, text } of texts) {
  if (element.closest(CUT_BY_DESIGN)) continue;
  const scroller = scrollerOf(element);
  if (!scroller && (box.left < -PIXEL || box.right > root.clientWidth + PIXEL)) {
    faults.push(`${name(element)} leaves the window at ${Math.round(box.right)} px: "${text}"`);
  }
  for (let at = element; at && at !== document.body && at !== scroller; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.display === "inline" || style.display === "contents") continue;
    const own = at.getBoundingClientRect();
    const out = { right: box.right - own.right, left: own.left - box.left };
    const cuts = style.overflowX !== "visible" || style.overflowY !== "visible";
    if (cuts) {
      Object.assign(out, {
        bottom: box.bottom - box.height * SLACK - own.bottom,
        top: own.top - box.top - box.height * SLACK,
      });
    } else if (at !== element) {
      continue;
    }
    for (const [side, by] of Object.entries(out)) {
      if (by > PIXEL) {
        const how = cuts ? "is cut off by" : "runs out of";
        faults.push(`"${text}" ${how} ${name(at)}, ${Math.round(by)} px at the ${side}`);
      }
    }
  }
}

const layers = new Map();
for (const text of texts) {
  if (text.element.closest(CUT_BY_DESIGN)) continue;
  const layer = scrollerOf(text.element) ?? text.element.closest(LAYERS) ?? document.body;
  if (!layers.has(layer)) layers.set(layer, []);
  layers.get(layer).push(text);
}
for (const layer of layers.values()) {
  layer.sort((one, other) => one.box.top - other.box.top);
  for (let first = 0; first < layer.length; first += 1) {
    const one = layer[first];
    for (let second = first + 1; second < layer.length; second += 1) {
      const other = layer[second];
      if (other.box.top >= one.box.bottom) break;
      if (one.node === other.node) continue;
      const slack = SLACK * Math.min(one.box.height, other.box.height);
      const high = Math.min(one.box.bottom, other.box.bottom) - other.box.top - slack;
      const wide =
        Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      if (high > PIXEL && wide > PIXEL) {
        faults.push(
          `${name(one.element)} "${one.text}" and ${name(other.element)} "${other.text}" ` +
            `overlap by ${Math.round(wide)} x ${Math.round(high)} px`,
        );
      }
    }
  }
}
return [...new Set(faults)];
