// Stands in for the network in the page's tests: the page and the worker under test both fetch
// through it. `test:clock` tells the wall clock; `test:stream?run=…&frames=…&interval=…&gather=…`
// plays frames at their due times, `gather` of them handed over at once; `test:broken` throws
// outside of any promise. Everything else goes to the real network.
{
  const network = fetch;
  const closed = new BroadcastChannel("test-streams");
  const wall = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

  const play = (asked, signal) => {
    const number = (name) => Number(asked.get(name));
    const [frames, interval, gather] = ["frames", "interval", "gather"].map(number);
    const start = performance.now();
    const encoder = new TextEncoder();
    let timer;
    const body = new ReadableStream({
      start(to) {
        const frame = (seq) => {
          const data = seq + 1 === frames ? "[DONE]" : "word";
          return `id: ${asked.get("run")}-${seq}\ndata: ${data}\n\n`;
        };
        const next = (seq) => {
          if (seq >= frames) return to.close();
          // The last of those that are gathered releases them all.
          const last = Math.min(seq + gather, frames) - 1;
          timer = setTimeout(() => {
            let text = "";
            for (let one = seq; one <= last; one += 1) text += frame(one);
            to.enqueue(encoder.encode(text));
            next(last + 1);
          }, start + last * interval - performance.now());
        };
        next(0);
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          closed.postMessage("closed");
          to.error(signal.reason);
        });
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  globalThis.fetch = async (asked, options) => {
    const url = asked.url ?? String(asked);
    if (url.startsWith("test:clock")) return new Response(JSON.stringify({ now_us: wall() }));
    if (url.startsWith("test:stream?")) {
      return play(new URLSearchParams(url.split("?")[1]), asked.signal ?? options?.signal);
    }
    if (url.startsWith("test:broken")) setTimeout(() => { throw new Error("on purpose"); });
    return network(asked, options);
  };
}
