// Every page works without this. It only makes some things quicker.
"use strict";

// What is wrong with a form is read first.
document.querySelector("[data-focus]")?.focus();

// A form that was sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.dataset.sent) {
    event.preventDefault();
    return;
  }
  event.target.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// The words and the mark on the curve follow the budget.
for (const box of document.querySelectorAll("[data-budgets]")) {
  const rows = [...box.querySelectorAll("[data-amount]")];
  const slider = box.querySelector("[type=range]"), amount = box.querySelector("[name=budget]");
  if (!slider) continue;
  const finite = rows.filter((one) => one.dataset.amount !== "");
  const tell = () => {
    const isFree = box.querySelector("[name=limit][value=none]").checked;
    const within = finite.filter((one) => Number(one.dataset.amount) <= Number(amount.value));
    const row = isFree ? rows.at(-1) : within.at(-1) ?? rows[0];
    const place = rows.indexOf(row);
    const name = isFree ? "no limit" : amount.value + " " + (amount.parentNode.querySelector(".unit")?.textContent ?? "");
    const words = "At " + name.trim() + ": " + row.cells[1].textContent;
    box.querySelector(".words").textContent = words;
    slider.setAttribute("aria-valuetext", words);
    for (const one of box.querySelectorAll("[data-place]"))
      one.classList.toggle("here", Number(one.dataset.place) === place);
    if (!isFree) slider.value = finite.indexOf(row);
  };
  slider.addEventListener("input", () => {
    box.querySelector("[name=limit][value=some]").checked = true;
    amount.value = finite[slider.value].dataset.amount;
    tell();
  });
  box.addEventListener("input", (event) => event.target !== slider && tell());
  box.querySelector("[data-slider]").hidden = false;
  box.querySelector("details").open = false;
  tell();
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
