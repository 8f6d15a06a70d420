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
