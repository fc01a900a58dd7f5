// The task page: listen, then answer section by section, then submit. The server's word counts: this script only
// shows what the server has opened.

import { send } from "/static/net.js";
import { Clip } from "/static/player.js";

const task = document.getElementById("task");
const alertBox = document.getElementById("alert");
const parts = [...document.querySelectorAll("form.part")];
const listen = document.getElementById("listen");
const shortcuts = document.getElementById("shortcuts");
const comment = document.getElementById("comment");
const HEARTBEAT_MS = 60000;

let stage = Number(task.dataset.stage);
let opened = performance.now();

// --- what survives a reload without network: what was heard, answers not yet acknowledged, the
//     comment, the submit's key

const memory = {
  name: `vaeval:${task.dataset.token}`,
  read() {
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
    const fresh = { answers: {}, comment: "", key, seq: 0, played: {} };
    return { ...fresh, ...JSON.parse(localStorage.getItem(this.name) || "{}") };
  },
  write() {
    localStorage.setItem(this.name, JSON.stringify(kept));
  },
  clear() {
    localStorage.removeItem(this.name);
  },
};
for (const name of Object.keys(localStorage)) {
  if (name.startsWith("vaeval:") && name !== memory.name) localStorage.removeItem(name);
}
const kept = memory.read();

function say(text) {
  alertBox.textContent = text;
  alertBox.hidden = !text;
  if (text) alertBox.scrollIntoView({ block: "nearest" });
}

function gone(message) {
  say(message + " ");
  const link = document.createElement("a");
  link.href = "/task";
  link.textContent = "Go on with the next task";
  alertBox.append(link);
  for (const control of task.querySelectorAll("input, textarea, button")) control.disabled = true;
}

/** Whether the server took a request; if not, say why. */
function accepted({ status, data }) {
  if (status < 300) return true;
  if (status === 410 || status === 404) gone(data.message);
  else if (status === 409 && data.error === "done") gone(data.message);
  else if (status === 409) gone("This task has moved on in another tab.");
  else if (status === 401 || status === 403) gone("Your session has ended.");
  else say(data.message);
  return false;
}

// --- events

const buffer = [];

function flush() {
  if (buffer.length) send("POST", "events", buffer.splice(0));
}

function report(kind, detail = {}) {
  kept.seq += 1;
  memory.write();
  // two tabs of one task must not use the same numbers: the clock makes them differ
  buffer.push({ seq: Date.now() * 1000 + (kept.seq % 1000), kind, at: Date.now(), ...detail });
  if (kind === "play" || kind === "hidden") flush(); // the server's listening clock starts at the first play
}

// --- listening

const coverage = Number(task.dataset.coverage);
const clips = [...document.querySelectorAll(".clip")].map((box) => new Clip(box, coverage, report, clipHeard));

function clipHeard(clip) {
  document.getElementById("heard").textContent = `${clip.label}: heard to the end`;
  kept.played[clip.part] = clip.ranges();
  memory.write();
  if (stage === 0 && clips.every((c) => c.heard)) askToOpen();
}

async function askToOpen() {
  flush();
  const answer = await send("POST", "listened", kept.played);
  if (answer.status === 422 && answer.data.error === "too_fast" && answer.data.wait_ms < 5000) {
    setTimeout(askToOpen, answer.data.wait_ms + 50); // the report of the first play was on its way for a while
    return;
  }
  if (answer.status === 422) {
    kept.played = {};
    for (const clip of clips) clip.forget();
  }
  if (accepted(answer)) open(answer.data.open);
}

async function load() {
  const loaded = await Promise.all(clips.map((clip) => clip.load()));
  if (!loaded.every(Boolean)) {
    say("A recording could not be loaded. Please reload the page; if that does not help, use the form at the end of this page.");
    return;
  }
  for (const clip of clips) if (stage > 0 || kept.played[clip.part]) clip.settle();
  if (stage === 0 && clips.every((clip) => clip.heard)) askToOpen();
}

// --- sections

function open(number, { focus = true } = {}) {
  stage = number;
  opened = performance.now();
  say("");
  listen.classList.toggle("open", stage > 0);
  for (const item of document.querySelectorAll(".steps li")) {
    const step = Number(item.dataset.step);
    item.classList.toggle("past", step < stage);
    if (step === stage) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
  for (const part of parts) part.hidden = Number(part.dataset.number) !== stage;
  const current = parts[stage - 1];
  if (current && focus) {
    const heading = current.querySelector("h2");
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  }
}

function chosen(part) {
  const answers = {};
  for (const question of part.querySelectorAll(".question")) {
    const input = question.querySelector("input:checked");
    const lack = !input;
    question.classList.toggle("lack", lack);
    question.querySelector(".missing").hidden = !lack;
    const key = question.dataset.key;
    if (input) answers[key] = { position: Number(input.value), ms: kept.answers[key] ? kept.answers[key].ms : 0 };
  }
  return answers;
}

function answered(input) {
  const answer = { position: Number(input.value), ms: Math.round(performance.now() - opened) };
  kept.answers[input.name] = answer;
  memory.write();
  const question = input.closest(".question");
  question.classList.remove("lack");
  question.querySelector(".missing").hidden = true;
  send("PUT", `answer/${input.name}`, answer).then(accepted);
}

async function finish(part) {
  const answers = chosen(part);
  const lacking = part.querySelector(".lack input");
  if (lacking) {
    say("Please answer every question of this section.");
    lacking.focus();
    return;
  }
  flush();
  const number = Number(part.dataset.number);
  const button = part.querySelector(".next");
  button.disabled = true;
  if (number < parts.length) {
    const answer = await send("POST", `section/${number}`, answers);
    button.disabled = false;
    if (accepted(answer)) open(answer.data.open);
    return;
  }
  const everything = Object.assign({}, ...parts.map(chosen));
  const answer = await send("POST", "submit", { answers: everything, comment: comment.value }, kept.key);
  if (accepted(answer)) {
    memory.clear();
    location.assign(answer.data.next);
  } else if (answer.status === 422) button.disabled = false;
}

for (const part of parts) {
  part.addEventListener("change", (event) => {
    if (event.target.type === "radio") answered(event.target);
  });
  part.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!part.querySelector(".next").disabled) finish(part);
  });
}

// --- keys: digits play, Enter on an answer goes on; both leave text fields alone

shortcuts.checked = localStorage.getItem("vaeval-shortcuts") !== "off";
shortcuts.addEventListener("change", () => localStorage.setItem("vaeval-shortcuts", shortcuts.checked ? "on" : "off"));
addEventListener("keydown", (event) => {
  const { target } = event;
  const writing = target.matches("textarea, input:not([type]), input[type=text]");
  if (writing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const clip = clips[Number(event.key) - 1];
  if (clip && shortcuts.checked) {
    event.preventDefault();
    clip.toggle();
  } else if (event.key === "Enter" && target.matches("input[type=radio]")) {
    event.preventDefault();
    target.form.requestSubmit();
  }
});

// --- the rest

comment.value = kept.comment;
comment.addEventListener("input", () => {
  kept.comment = comment.value;
  memory.write();
});
document.getElementById("problem").addEventListener("click", async () => {
  const answer = await send("POST", "problem", { reason: document.getElementById("reason").value });
  if (accepted(answer)) location.assign(answer.data.next);
});
document.addEventListener("visibilitychange", () => report(document.hidden ? "hidden" : "visible"));
addEventListener("offline", () => report("offline"));
addEventListener("online", () => report("online"));
setInterval(() => {
  if (!document.hidden) send("POST", "heartbeat", "").then(accepted);
}, HEARTBEAT_MS);

// answers the server has not got: it was out of reach when they were given
for (const [key, answer] of Object.entries(kept.answers)) {
  const input = task.querySelector(`input[name="${key}"][value="${answer.position}"]`);
  const open_ = parts[stage - 1];
  if (input && open_ && open_.contains(input) && !input.checked) {
    input.checked = true;
    send("PUT", `answer/${key}`, answer).then(accepted);
  }
}
open(stage, { focus: false });
load();
