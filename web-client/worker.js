// Reads streams on a thread of its own, by a clock of its own, and forwards each delivery to the
// page at once. A time is taken before anything else is done with what it belongs to; what the
// bytes say is none of this script's business.
//
// In: {open: id, url}, {close: id}, {sync: id, url, trips}, {protocol: id, url}.
// Out: {id, ...}; times are milliseconds of this thread's performance.now().
"use strict";

// As the page's own heartbeat: well under the 50 ms from which a task counts as long.
const BEAT_MS = 20;
// The clock's step is looked for until so many steps were seen, or for so long.
const STEPS = 40, STEP_SEARCH_MS = 15;

const streams = new Map();
let heart = 0, lastBeat = 0, step;

function beat() {
  const now = performance.now();
  const late = now - lastBeat - BEAT_MS;
  lastBeat = now;
  for (const stream of streams.values()) stream.longest = Math.max(stream.longest, late);
}

function begin(id, stream) {
  if (streams.size === 0) {
    lastBeat = performance.now();
    heart = setInterval(beat, BEAT_MS);
  }
  streams.set(id, stream);
}

function end(id) {
  streams.delete(id);
  if (streams.size === 0) clearInterval(heart);
}

async function read(id, url) {
  const stream = { abort: new AbortController(), longest: 0 };
  begin(id, stream);
  const gone = () => streams.get(id) !== stream;
  const finish = (how, what) => {
    const ended = performance.now();
    if (gone()) return;
    // A task that still runs counts up to now.
    beat();
    postMessage({ id, ended, how, what, longest: stream.longest });
    end(id);
  };
  const called = performance.now();
  const asked = fetch(url, {
    cache: "no-store",
    credentials: "omit",
    // Needs no preflight; an EventSource sends the same.
    headers: { accept: "text/event-stream" },
    signal: stream.abort.signal,
  });
  postMessage({ id, called });
  let response;
  try {
    response = await asked;
  } catch (error) {
    return finish("failed", `the request failed: ${error.message}`);
  }
  const head = performance.now();
  if (gone()) return;
  postMessage({
    id,
    head,
    status: response.status,
    type: response.headers.get("content-type"),
    coding: response.headers.get("content-encoding"),
  });
  if (response.status !== 200) {
    finish("failed", `the endpoint answered ${response.status}`);
    stream.abort.abort();
    return;
  }
  if (!response.body) return finish("closed");
  const reader = response.body.getReader();
  for (;;) {
    let got, at;
    try {
      got = await reader.read();
      at = performance.now();
    } catch {
      // What the framing calls an error after the head is a stream that was cut.
      return finish("cut");
    }
    if (gone()) return;
    if (got.done) return finish("closed");
    postMessage({ id, at, bytes: got.value }, [got.value.buffer]);
  }
}

function clockStep() {
  const first = performance.now();
  let last = first, smallest = Infinity;
  for (let seen = 0; seen < STEPS && last - first < STEP_SEARCH_MS; ) {
    const now = performance.now();
    if (now > last) {
      smallest = Math.min(smallest, now - last);
      last = now;
      seen += 1;
    }
  }
  return last > first ? smallest : 0;
}

async function sync(id, url, trips) {
  step ??= clockStep();
  const found = [];
  try {
    for (let trip = 0; trip < trips; trip += 1) {
      const sent = performance.now();
      const response = await fetch(url, { cache: "no-store" });
      // The emitter wrote its answer before it sent the head, so the head's time bounds it.
      const received = performance.now();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      found.push(sent, (await response.json()).now_us, received);
    }
    postMessage({ id, step, trips: found });
  } catch (error) {
    postMessage({ id, failed: error.message });
  }
  // The browser keeps only so many entries and then drops new ones.
  performance.clearResourceTimings();
}

onmessage = ({ data }) => {
  if ("open" in data) {
    read(data.open, data.url);
  } else if ("close" in data) {
    streams.get(data.close)?.abort.abort();
    end(data.close);
  } else if ("sync" in data) {
    sync(data.sync, data.url, data.trips);
  } else {
    const [entry] = performance.getEntriesByName(data.url);
    postMessage({ id: data.protocol, protocol: entry?.nextHopProtocol });
  }
};
