"use strict";
(() => {
  const root = document.documentElement;
  const panels = [...document.querySelectorAll(".panel")];
  const links = [...document.querySelectorAll(".rubrics a")];
  const select = document.querySelector(".pick select");
  const named = (hash) => panels.find((panel) => `#${panel.id}` === hash);

  function show(panel) {
    panels.forEach((other) => other.classList.toggle("on", other === panel));
    links.forEach((link) => {
      if (link.hash === `#${panel.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    select.value = panel.id;
  }

  root.classList.add("js");
  select.closest("label").hidden = false;
  show(named(location.hash) || panels[0]);
  window.addEventListener("hashchange", () => named(location.hash) && show(named(location.hash)));
  links.forEach((link) =>
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the panel changes in place; nothing needs to scroll
      history.replaceState(null, "", link.hash);
      show(named(link.hash));
    }),
  );
  select.addEventListener("change", () => {
    history.replaceState(null, "", `#${select.value}`);
    show(named(`#${select.value}`));
  });

  document.addEventListener(
    "play",
    (event) => document.querySelectorAll("audio").forEach((audio) => audio !== event.target && audio.pause()),
    true,
  );

  const json = document.getElementById("json");
  const snapshot = document.getElementById("snapshot").textContent;
  json.hidden = false;
  json.querySelector("a").href = URL.createObjectURL(new Blob([snapshot], { type: "application/json" }));
})();
