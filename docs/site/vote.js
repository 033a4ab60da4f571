/* The picture of the vote: documents around a sentence, and their labels as more of them vote. */
(() => {
  "use strict";
  const SIZE = 420, MARGIN = 24;
  const make = (name, attributes = {}, text = "") => {
    const svg = ["svg", "circle", "line", "path", "title"].includes(name);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };

  const place = (sentence) => {
    const all = [...sentence.points, sentence.text];
    const range = (key) => [Math.min(...all.map((p) => p[key])), Math.max(...all.map((p) => p[key]))];
    const [left, right] = range("x"), [low, high] = range("y");
    const scale = (SIZE - 2 * MARGIN) / Math.max(right - left, high - low, 1e-9);
    const at = (p) => [MARGIN + (p.x - left) * scale, MARGIN + (high - p.y) * scale];
    return { at, width: 2 * MARGIN + (right - left) * scale, height: 2 * MARGIN + (high - low) * scale };
  };

  const sumVotes = (voters) => {
    const sums = new Map();
    let whole = 0;
    for (const voter of voters) {
      whole += voter.share;
      for (const label of voter.labels) sums.set(label, (sums.get(label) || 0) + voter.share);
    }
    return [...sums].map(([label, sum]) => [label, sum / whole]).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  };

  const show = (root, data) => {
    root.querySelector("noscript")?.remove();
    const controls = make("div", { class: "nt-controls" });
    const choice = make("select", { "aria-label": "sentence" });
    data.sentences.forEach((each, number) => choice.append(make("option", { value: number }, `“${each.sentence}”`)));
    const slider = make("input", { type: "range", min: 1, "aria-label": "number of voters" });
    const count = make("output");
    const label = make("label");
    label.append(slider, " ", count);
    controls.append(choice, label);
    const both = make("div", { class: "nt-both" });
    const picture = make("svg", { role: "img" });
    const side = make("div");
    const bars = make("div", { "aria-live": "polite" });
    const said = make("p", { class: "nt-said" }, "Point at a dot to see its document.");
    side.append(bars, said);
    both.append(picture, side);
    root.append(controls, both);

    const tell = (point) => {
      const share = point.share ? `, ${(100 * point.share).toFixed(1)}% of all votes` : ", no vote";
      said.textContent = `${point.id}${share}. Labels: ${point.labels.join(", ")}`;
    };

    const draw = () => {
      const sentence = data.sentences[Number(choice.value)];
      const voters = sentence.points.filter((p) => p.share > 0).sort((a, b) => b.share - a.share);
      slider.max = voters.length;
      const wanted = Math.min(Number(slider.value), voters.length);
      const chosen = voters.slice(0, wanted);
      count.textContent = `${wanted} of ${voters.length} voters`;
      picture.replaceChildren();
      picture.setAttribute("aria-label", `${wanted} documents vote on the labels of: ${sentence.sentence}`);
      const { at, width, height } = place(sentence);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const [x, y] = at(sentence.text);
      for (const p of chosen) {
        const [px, py] = at(p);
        picture.append(make("line", { x1: x, y1: y, x2: px, y2: py, class: "nt-tie", "stroke-width": 1 + 8 * p.share }));
      }
      const dots = [...sentence.points.filter((p) => !chosen.includes(p)), ...chosen];
      for (const p of dots) {
        const votes = chosen.includes(p);
        const [cx, cy] = at(p);
        const r = votes ? 4 + 14 * Math.sqrt(p.share) : 3;
        const dot = make("circle", { cx, cy, r, class: votes ? "nt-voter" : "nt-other", ...(votes && { tabindex: 0 }) });
        dot.append(make("title", {}, p.id));
        for (const event of ["mouseenter", "focus", "click"]) dot.addEventListener(event, () => tell(p));
        picture.append(dot);
      }
      const star = [];
      for (let corner = 0; corner < 10; corner += 1) {
        const radius = corner % 2 ? 5 : 11, angle = (Math.PI * corner) / 5 - Math.PI / 2;
        star.push(`${x + radius * Math.cos(angle)},${y + radius * Math.sin(angle)}`);
      }
      const own = make("path", { d: `M${star.join("L")}Z`, class: "nt-text" });
      own.append(make("title", {}, "the sentence"));
      picture.append(own);
      bars.replaceChildren(make("p", { class: "nt-said", style: "min-height:0" }, "Share of these voters that have the label:"));
      for (const [name, share] of sumVotes(chosen).slice(0, 7)) {
        const row = make("div", { class: "nt-bar" });
        const bar = make("span");
        bar.append(make("i", { style: `width:${100 * share}%` }), make("b", {}, name));
        row.append(bar, make("span", {}, `${(100 * share).toFixed(0)}%`));
        bars.append(row);
      }
    };
    slider.value = 5;
    choice.addEventListener("change", () => { slider.max = 999; slider.value = 5; draw(); });
    slider.addEventListener("input", draw);
    slider.max = 999;
    slider.value = 5;
    draw();
  };

  const start = () => {
    for (const root of document.querySelectorAll(".nt-vote")) {
      if (root.dataset.shown) continue;
      root.dataset.shown = "yes";
      // As a script, not by fetch: pages opened from a folder may not fetch.
      const script = make("script", { src: root.dataset.source });
      script.addEventListener("load", () => show(root, window.neartagVotes));
      script.addEventListener("error", () => root.append("The data of the picture could not be read."));
      document.head.append(script);
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
