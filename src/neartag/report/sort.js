
"use strict";
const number = (text) => (text === "–" ? -1 : Number(text.replace(/,/g, "")));
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const words = !head.classList.contains("number");
    head.querySelector("button").addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const rising = before ? before === "descending" : words;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const keys = new Map(rows.map((row) => {
        const text = row.cells[column].textContent;
        return [row, words ? text.toLowerCase() : number(text)];
      }));
      rows.sort((one, two) => {
        const first = keys.get(one), second = keys.get(two);
        const order = words ? first.localeCompare(second) : first - second;
        return rising ? order : -order;
      });
      body.append(...rows);
    });
  });
  const filter = document.getElementById(table.dataset.filter);
  const told = document.getElementById(table.dataset.told);
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      shown += !row.hidden;
    }
    told.textContent = wanted ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} labels` : "";
  });
}
document.documentElement.classList.add("scripted");
