// Chooses light or dark before anything is drawn: the reader's choice here, else Airflow's, else the system's.
(() => {
  const stored = localStorage.getItem("blockread-theme") || localStorage.getItem("theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
