// What scrolls in a box of its own must be reachable by the keyboard.
"use strict";

function letKeyboardScroll() {
  for (const box of document.querySelectorAll("article :is(pre, div.math, figure, .output)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

// Formulas and charts are drawn late, and every one of them changes the height of the page.
addEventListener("load", () => {
  new ResizeObserver(letKeyboardScroll).observe(document.querySelector("article"));
});
