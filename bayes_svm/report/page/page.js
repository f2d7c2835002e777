"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const percent = (share) => (Number.isFinite(share) ? (100 * share).toFixed(1) + "\u00a0%" : "\u2013");
  const say = (id, text) => { by(id).textContent = text; };

  // The threshold: all counts are in the page, for thresholds of 0, 1, ..., 100 %.
  const thresholds = () => {
    const tool = by("threshold-tool");
    const slider = by("threshold");
    const which = by("threshold-class");
    const chart = by("threshold-chart");
    const frame = ["left", "right", "top", "bottom"].map((side) => Number(chart.dataset[side]));
    const [left, right, top, bottom] = frame;
    const curve = () => data.thresholds[which ? which.selectedIndex : 0];
    const cost = (one, k) =>
      Number(by("cost-alarm").value) * one.alarms[k] + Number(by("cost-missed").value) * (one.n - one.found[k]);

    const show = () => {
      const one = curve();
      const k = Number(slider.value);
      const found = one.found[k];
      const alarms = one.alarms[k];
      const missed = one.n - found;
      const total = cost(one, k);
      say("threshold-value", k + "\u00a0%");
      say("out-precision", percent(found / (found + alarms)));
      say("out-recall", percent(found / one.n));
      say("out-f1", percent((2 * found) / (2 * found + alarms + missed)));
      say("out-found", String(found));
      say("out-missed", String(missed));
      say("out-alarms", String(alarms));
      say("out-spared", String(one.others - alarms));
      say("out-cost", Number.isFinite(total) ? String(Math.round(total * 100) / 100) : "\u2013");
      slider.setAttribute("aria-valuetext", k + " %");
      const x = left + ((right - left) * k) / 100;
      by("threshold-cursor").setAttribute("d", `M${x} ${top}V${bottom}`);
    };
    const path = (values) => {
      let command = "M";
      let text = "";
      values.forEach((value, k) => {
        if (!Number.isFinite(value)) { command = "M"; return; }
        text += `${command}${left + ((right - left) * k) / 100} ${bottom - (bottom - top) * value}`;
        command = "L";
      });
      return text;
    };
    const draw = () => {
      const one = curve();
      by("precision-line").setAttribute("d", path(one.found.map((hits, k) => hits / (hits + one.alarms[k]))));
      by("recall-line").setAttribute("d", path(one.found.map((hits) => hits / one.n)));
      document.querySelectorAll("[data-curve]").forEach((part) => { part.textContent = one.label; });
      show();
    };
    const cheapest = () => {
      const one = curve();
      const costs = one.found.map((_, k) => cost(one, k));
      const least = Math.min(...costs);
      const best = costs.map((_, k) => k).filter((k) => costs[k] === least);
      slider.value = String(best[Math.floor(best.length / 2)]);
      show();
    };
    slider.addEventListener("input", show);
    if (which) which.addEventListener("change", draw);
    for (const id of ["cost-alarm", "cost-missed"]) by(id).addEventListener("input", show);
    by("cheapest").addEventListener("click", cheapest);
    tool.hidden = false;
    show();
  };

  // How many rows are answered.
  const answers = () => {
    const slider = by("answered");
    const chart = by("risk-chart");
    const { confidence, coverage, risk, n } = data.risk;
    const show = () => {
      const share = Number(slider.value) / 100;
      let k = coverage.findIndex((one) => one >= share - 1e-9);
      if (k < 0) k = coverage.length - 1;
      const kept = Math.round(coverage[k] * n);
      say("answered-value", percent(coverage[k]));
      say("out-answered", String(kept));
      say("out-left", String(n - kept));
      say("out-wrong", String(Math.round(risk[k] * kept)));
      say("out-risk", percent(risk[k]));
      say("out-confidence", percent(confidence[k]));
      const x = Number(chart.dataset.left) + (Number(chart.dataset.right) - Number(chart.dataset.left)) * coverage[k];
      by("risk-cursor").setAttribute("d", `M${x} ${chart.dataset.top}V${chart.dataset.bottom}`);
    };
    slider.addEventListener("input", show);
    by("answer-tool").hidden = false;
    show();
  };

  // Tables that are sorted by a click on a header. Cells may say what to sort by.
  const sortable = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent.trim();
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        const order = (a, b) => {
          const [x, y] = [key(a), key(b)];
          const numbers = x !== "" && y !== "" && Number.isFinite(Number(x)) && Number.isFinite(Number(y));
          return numbers ? Number(x) - Number(y) : x.localeCompare(y);
        };
        const rows = [...body.rows].sort(order);
        body.append(...(up ? rows : rows.reverse()));
      });
    });
  };

  // A table that is wider than its place is scrolled with the keyboard too.
  const reachable = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      const wide = box.scrollWidth > box.clientWidth;
      if (wide) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", box.querySelector("caption").textContent.trim());
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
  };

  thresholds();
  answers();
  document.querySelectorAll("table[data-sort]").forEach(sortable);
  reachable();
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);

  // On paper nothing can be unfolded.
  const folded = () => [...document.querySelectorAll("details.printed:not([open])")];
  let opened = [];
  addEventListener("beforeprint", () => { opened = folded(); opened.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => { opened.forEach((one) => { one.open = false; }); });
})();
