// Runs before the page is drawn, so that a chosen theme does not flash.
(function () {
  let theme = null;
  try {
    theme = localStorage.getItem("assize-theme");
  } catch {
    // Storage is blocked: the system's theme is used.
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
