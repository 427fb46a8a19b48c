// What the theme leaves out for keyboards and screen readers: make site-check finds it.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // Wide tables scroll by themselves, by keyboard too if Tab reaches them.
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((wrap) => { wrap.tabIndex = 0; });
});
