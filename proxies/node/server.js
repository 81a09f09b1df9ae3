// An origin with nothing in front of it: plays the emitter's paced streams itself, through the
// `compression` middleware with threshold 0, as an application would that compresses every
// answer. HOLDUP_FLUSH says what the application does about it:
//   never         nothing: zlib keeps what it has until the end
//   each-event    calls the flush() that the middleware adds, after each event
//   no-transform  answers `Cache-Control: no-transform`, which the middleware heeds
'use strict'

const http = require('node:http')
const compression = require('compression')

const mode = process.env.HOLDUP_FLUSH
if (!['never', 'each-event', 'no-transform'].includes(mode)) {
  throw new Error(`HOLDUP_FLUSH is ${mode}: it must be never, each-event or no-transform`)
}
const compress = compression({ threshold: 0 })

// One frame of exactly so many bytes: id, data, and a comment that fills it up.
function frame(run, seq, last, bytes) {
  let text = `id: ${run}-${seq}\ndata: ${last ? '[DONE]' : 'so'}`
  const left = bytes - text.length - 2
  if (left === 1) text += '.'
  if (left > 1) text += '\n:' + '.'.repeat(left - 2)
  return text + '\n\n'
}

function play(query, response) {
  const number = (name, otherwise) => Number(query.get(name) ?? otherwise)
  const run = query.get('run') ?? ''
  const frames = number('frames', 41)
  const interval = number('interval_ms', 50)
  const bytes = number('frame_bytes', 60)
  response.setHeader('Content-Type', 'text/event-stream')
  response.setHeader('Cache-Control', mode === 'no-transform' ? 'no-cache, no-transform' : 'no-cache')
  const start = performance.now()
  const step = (seq) => {
    response.write(frame(run, seq, seq === frames - 1, bytes))
    if (mode === 'each-event') response.flush()
    if (seq === frames - 1) return response.end()
    // Absolute deadlines: a late event makes none after it late.
    setTimeout(step, Math.max(0, start + (seq + 1) * interval - performance.now()), seq + 1)
  }
  step(0)
}

const server = http.createServer((request, response) => {
  compress(request, response, () => {
    play(new URL(request.url, 'http://origin').searchParams, response)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
