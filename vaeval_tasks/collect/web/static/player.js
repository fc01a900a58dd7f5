// One clip: plays at normal speed and with sound only, and knows which stretches were heard.

import { fetchClip } from "/static/net.js";

const all = [];

export class Clip {
  /** `box` is the clip's element; `report(kind, detail)` gets what happens; `heard()` is called when it is heard. */
  constructor(box, coverage, report, heard) {
    this.box = box;
    this.part = box.dataset.part;
    this.label = box.dataset.label;
    this.coverage = coverage;
    this.report = (kind, detail = {}) => report(kind, { part: this.part, ...detail });
    this.onHeard = heard;
    this.heard = false;
    this.plays = 0;
    this.audio = new Audio();
    this.audio.preload = "auto";
    this.button = box.querySelector(".play");
    this.seek = box.querySelector(".seek");
    this.state = box.querySelector(".state");
    all.push(this);
    this.listen();
  }

  listen() {
    const { audio } = this;
    this.button.addEventListener("click", () => this.toggle());
    this.seek.addEventListener("input", () => {
      audio.currentTime = (audio.duration * Number(this.seek.value)) / 1000;
    });
    audio.addEventListener("play", () => this.started());
    audio.addEventListener("pause", () => this.stopped("pause"));
    audio.addEventListener("ended", () => this.stopped("ended"));
    audio.addEventListener("seeked", () => this.report("seeked", { to: audio.currentTime }));
    audio.addEventListener("waiting", () => this.report("waiting"));
    audio.addEventListener("stalled", () => this.report("stalled"));
    audio.addEventListener("error", () => this.failed());
    audio.addEventListener("timeupdate", () => this.show());
    audio.addEventListener("ratechange", () => {
      if (audio.playbackRate !== 1) this.refuse("ratechange", { rate: audio.playbackRate });
    });
    audio.addEventListener("volumechange", () => {
      if (audio.muted || audio.volume < 0.05) this.refuse("volumechange", { muted: audio.muted, volume: audio.volume });
    });
  }

  async load() {
    const blob = await fetchClip(this.box.dataset.link);
    if (!blob) return false;
    this.audio.src = URL.createObjectURL(blob);
    await new Promise((resolve) => {
      this.audio.addEventListener("canplaythrough", resolve, { once: true });
      this.audio.addEventListener("error", resolve, { once: true });
    });
    if (this.audio.error) return false;
    this.button.disabled = false;
    this.show();
    return true;
  }

  toggle() {
    if (this.button.disabled) return;
    if (this.audio.paused) this.audio.play().catch(() => this.report("error", { code: "play" }));
    else this.audio.pause();
  }

  started() {
    for (const other of all) if (other !== this) other.audio.pause();
    this.plays += 1;
    this.box.classList.add("playing");
    this.button.querySelector(".what").textContent = "Pause";
    this.report("play", { n: this.plays, from: this.audio.currentTime });
  }

  stopped(kind) {
    this.box.classList.remove("playing");
    this.button.querySelector(".what").textContent = "Play";
    this.report(kind, { position: this.audio.currentTime });
    this.show();
  }

  /** Not at normal speed, or without sound: what was played so far does not count. */
  refuse(kind, detail) {
    this.report(kind, detail);
    this.audio.pause();
    this.audio.muted = false;
    this.audio.volume = 1;
    this.audio.playbackRate = 1;
    if (this.heard) return;
    this.audio.load(); // also forgets the played ranges
    this.state.textContent = "Please play at normal speed, with sound";
  }

  failed() {
    this.report("error", { code: this.audio.error ? this.audio.error.code : 0 });
    this.button.disabled = true;
    this.state.textContent = "Cannot be played";
  }

  ranges() {
    const { played } = this.audio;
    return Array.from({ length: played.length }, (_, i) => [played.start(i), played.end(i)]);
  }

  show() {
    const { audio } = this;
    if (!audio.duration) return;
    this.seek.value = String(Math.round((1000 * audio.currentTime) / audio.duration));
    if (this.heard) return;
    const share = this.ranges().reduce((sum, [start, end]) => sum + end - start, 0) / audio.duration;
    if (share >= this.coverage && (audio.paused || audio.ended)) {
      this.settle();
      this.onHeard(this);
    } else if (share > 0) {
      this.state.textContent = `${Math.floor(100 * share)} % heard`;
    } else {
      this.state.textContent = `${Math.max(1, Math.round(audio.duration))} s`;
    }
  }

  settle() {
    this.heard = true;
    this.box.classList.add("heard");
    this.seek.disabled = false;
    this.state.textContent = "✓ Heard";
  }

  /** What was refused by the server must be played again. */
  forget() {
    this.heard = false;
    this.box.classList.remove("heard");
    this.seek.disabled = true;
    this.audio.load();
  }
}
