// The plain reader that the page's own is held against: call, read, note the time, nothing else.
// It reads short streams through every lane for as long as the page runs.
((origins, script, kind) => {
  const streams = (globalThis.plainStreams = []);
  const running = () => document.documentElement.dataset.state === "running";
  const id = () => crypto.randomUUID().replaceAll("-", "");

  const byFetch = async (url, reads) => {
    const response = await fetch(url, { cache: "no-store", credentials: "omit" });
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      const at = performance.now();
      if (done) return;
      reads.push([at, value]);
    }
  };

  const byEventSource = (url, reads) =>
    new Promise((end) => {
      const source = new EventSource(url);
      source.onmessage = (event) => {
        const at = performance.now();
        reads.push([at, event]);
        if (event.data !== "[DONE]") return;
        source.close();
        end();
      };
    });

  // What came as a byte stream has it; asked for when all is over.
  globalThis.text = (got) =>
    got instanceof Uint8Array
      ? new TextDecoder().decode(got)
      : `id: ${got.lastEventId}\ndata: ${got.data}\n\n`;

  const read = kind === "eventsource" ? byEventSource : byFetch;
  const lane = async (origin) => {
    while (running()) {
      const stream = { run: id(), reads: [] };
      await read(`${origin}/stream?run=${stream.run}&${script}`, stream.reads);
      streams.push(stream);
    }
  };
  const wait = () => (running() ? origins.forEach(lane) : setTimeout(wait, 20));
  wait();
})(...arguments);
