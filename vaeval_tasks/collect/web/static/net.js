// Sends to the server in order, and again after a failure, until it answers. Every request may be repeated:
// events carry numbers, answers replace themselves, sections compare, a submit has a key.

const task = document.getElementById("task");
const notice = document.getElementById("net");
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;

let last = Promise.resolve();

function online() {
  return new Promise((resolve) => addEventListener("online", resolve, { once: true }));
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function attempt(url, options) {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    try {
      const response = await fetch(url, options);
      if (response.status < 500) {
        notice.hidden = true;
        return response;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch reports a lost network as TypeError
    }
    notice.hidden = false;
    await Promise.race([online(), pause(wait)]);
  }
}

async function sendNow(method, path, body, key) {
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": task.dataset.csrf };
  if (key) headers["Idempotency-Key"] = key;
  const response = await attempt(`/api/task/${task.dataset.token}/${path}`, { method, headers, body });
  return { status: response.status, data: await response.json() };
}

/** Send one request after all earlier ones; `body` is an object, or text to be sent as it is. */
export function send(method, path, body, key = "") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const mine = last.then(() => sendNow(method, path, text, key));
  last = mine.catch(() => undefined);
  return mine;
}

/** Fetch a clip whole, so that a lost network cannot interrupt listening. */
export async function fetchClip(link) {
  for (;;) {
    const response = await attempt(`/clip/${link}`, {});
    if (!response.ok) return null;
    try {
      return await response.blob();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the network was lost half-way
    }
  }
}
