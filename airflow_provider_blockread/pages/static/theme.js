// Chooses light or dark before anything is drawn: in Airflow's frame, which has no switch here, Airflow's choice; else the
// reader's choice here, else Airflow's. Where there is none, the system's holds.
(() => {
  const here = window.parent === window ? localStorage.getItem("blockread-theme") : null;
  const stored = here || localStorage.getItem("theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
