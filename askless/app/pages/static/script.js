// Every page works without this. It only makes some things quicker.
"use strict";

// What is wrong with a form is read first.
document.querySelector("[data-focus]")?.focus();

// To skip to the content leaves open which part of it is seen.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.querySelector("main").focus();
});

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

// While the focus is among a question's choices, digits choose one of them.
for (const choices of document.querySelectorAll("[data-keys]")) {
  const radios = [...choices.querySelectorAll("[type=radio]")];
  choices.querySelector("[data-keys-hint]").hidden = false;
  choices.addEventListener("keydown", (event) => {
    const chosen = radios[Number(event.key) - 1];
    if (!chosen || event.ctrlKey || event.altKey || event.metaKey) return;
    chosen.checked = true;
    chosen.focus();
  });
}

// The words and the mark on the curve follow the budget.
for (const box of document.querySelectorAll("[data-budgets]")) {
  const rows = [...box.querySelectorAll("[data-amount]")];
  const slider = box.querySelector("[type=range]"), amount = box.querySelector("[name=budget]");
  const mean = box.querySelector("[name=limit][value=mean]");
  box.querySelector("[name='aim.mean_budget']")?.addEventListener("input", () => { mean.checked = true; });
  if (!slider) continue;
  const finite = rows.filter((one) => one.dataset.amount !== "");
  const tell = () => {
    const isFree = box.querySelector("[name=limit][value=none]").checked;
    const within = finite.filter((one) => Number(one.dataset.amount) <= Number(amount.value));
    const row = isFree ? rows.at(-1) : within.at(-1) ?? rows[0];
    const place = rows.indexOf(row);
    const name = isFree ? "no limit" : amount.value + " " + (amount.parentNode.querySelector(".unit")?.textContent ?? "");
    const words = (mean?.checked ? "Without a mean, at " : "At ") + name.trim() + ": " + row.cells[1].textContent;
    box.querySelector(".words").textContent = words;
    slider.setAttribute("aria-valuetext", words);
    for (const one of box.querySelectorAll("[data-place]"))
      one.classList.toggle("here", Number(one.dataset.place) === place);
    slider.value = place;
  };
  slider.addEventListener("input", () => {
    const chosen = rows[slider.value].dataset.amount;
    if (!mean?.checked || !chosen) box.querySelector(`[name=limit][value=${chosen ? "some" : "none"}]`).checked = true;
    if (chosen) amount.value = chosen;
    tell();
  });
  box.addEventListener("input", (event) => event.target !== slider && tell());
  box.querySelector("[data-slider]").hidden = false;
  box.querySelector("details").open = false;
  tell();
}

// A search leaves only the fields whose names have the words.
for (const box of document.querySelectorAll("[data-search]")) {
  box.hidden = false;
  const search = box.querySelector("input"), grid = box.nextElementSibling;
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  search.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase();
    for (const one of grid.children)
      one.hidden = !one.querySelector("label").textContent.toLowerCase().includes(words);
  });
}

// The section that is seen is marked among the links to all of them.
for (const link of document.querySelectorAll(".tabbed .contents a")) {
  const section = document.querySelector(link.hash);
  const mark = () => section.checkVisibility() ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  for (const kind of ["pageshow", "hashchange"]) addEventListener(kind, mark);
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// A table may be dropped, and its way is shown.
const watchUpload = (going) => {
  const form = going.closest("form"), drop = form.querySelector(".drop"), input = form.querySelector("[type=file]");
  const tooLarge = form.querySelector("[data-too-large]");
  const button = form.querySelector("button"), told = going.querySelector("[role=status]");
  for (const kind of ["dragover", "dragleave", "drop"])
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) input.files = event.dataTransfer.files;
    });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (button.disabled) return;
    tooLarge.hidden = (input.files[0]?.size ?? 0) <= Number(input.dataset.most);
    if (!tooLarge.hidden) return;
    const sent = new XMLHttpRequest(), bar = going.querySelector("progress");
    const end = () => { button.disabled = false; bar.hidden = true; };
    sent.upload.addEventListener("progress", (at) => (bar.value = at.loaded / at.total));
    sent.upload.addEventListener("load", () => (told.textContent = told.dataset.read));
    sent.addEventListener("error", () => { end(); told.textContent = told.dataset.broken; });
    sent.addEventListener("load", () => {
      end();
      if (sent.responseURL !== form.action) return location.assign(sent.responseURL);
      const page = new DOMParser().parseFromString(sent.responseText, "text/html");
      document.title = page.title;
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.querySelectorAll("[data-going]").forEach(watchUpload);
      document.querySelector("[data-focus]")?.focus();
    });
    button.disabled = true;
    going.hidden = bar.hidden = false;
    told.textContent = told.dataset.words;
    sent.open("POST", form.action);
    sent.setRequestHeader("Accept", "text/html");
    sent.send(new FormData(form));
  });
};
document.querySelectorAll("[data-going]").forEach(watchUpload);

// What is under way is shown as it goes on; once it has ended the page is another.
const followed = document.querySelector("[data-follow]");
if (followed) {
  const here = followed.dataset.follow.replace(/\/events$/, "");
  let isLooking = false, isDue = false;
  const look = async () => {
    isDue = true;
    if (isLooking) return;
    isLooking = true;
    while (isDue) {
      isDue = false;
      const answer = await fetch(here, { headers: { Accept: "text/html" } }).catch(() => null);
      if (answer?.redirected) return location.assign(here);
      if (answer?.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (!page.querySelector("[data-follow]"))
          return location.assign(page.querySelector("[data-done]")?.getAttribute("href") ?? here);
        for (const part of document.querySelectorAll("[data-live]")) {
          const now = page.querySelector(`[data-live="${part.dataset.live}"]`);
          if (part.innerHTML !== now.innerHTML) part.innerHTML = now.innerHTML;
        }
      }
      await new Promise((wake) => setTimeout(wake, followed.dataset.pace ?? 2000));
    }
    isLooking = false;
  };
  const events = new EventSource(followed.dataset.follow);
  for (const kind of ["running", "progress", "queued", "lost", "cancelling", "succeeded", "failed", "cancelled", "call", "ended"])
    events.addEventListener(kind, look);
  // The place in the queue, and the end that is expected, have no events.
  setInterval(look, 10000);
  document.querySelector("[data-unscripted]").hidden = true;
}
