import { TenureError } from '@tenure/client'
import t from 'tap'
import { ProgressLine } from '../src/show/progress.js'
import { readLines } from '../src/submit/line-reader.js'
import { showCounted, tellHowToGoOn } from '../src/submit/lines-report.js'
import { golden } from './golden.js'

async function linesOf(chunks: Iterable<Uint8Array>) {
  const found: { number: number; text: string; end: number }[] = []
  const source = (async function* () {
    yield* chunks
  })()
  for await (const { number, bytes, end } of readLines(source)) {
    found.push({ number, text: Buffer.from(bytes).toString('latin1'), end })
  }
  return found
}

t.test('lines are bytes between line feeds, wherever the chunks end', async (t) => {
  const text = Buffer.from('one\r\n\ntwo \u00e9\r\nlast\xff', 'latin1')
  const expected = [
    { number: 1, text: 'one', end: 5 },
    { number: 2, text: '', end: 6 },
    { number: 3, text: 'two \u00e9', end: 13 },
    { number: 4, text: 'last\xff', end: 18 },
  ]
  for (let at = 0; at <= text.length; at++) {
    t.same(await linesOf([text.subarray(0, at), text.subarray(at)]), expected, `cut at ${at}`)
  }
  t.same(await linesOf([...text].map((byte) => Uint8Array.of(byte))), expected)
})

t.test('a line feed at the end begins no further line', async (t) => {
  t.same((await linesOf([Buffer.from('one\n')])).length, 1)
  t.same(await linesOf([]), [])
})

t.test('what is not made of lines does not fill the memory', async (t) => {
  const chunk = Buffer.alloc(16 * 1024 * 1024, 'x')
  const endless = (function* () {
    for (;;) yield chunk
  })()
  await t.rejects(linesOf(endless), /^line 1 is longer than 67108864 bytes$/)
})

t.test('the summary counts what became of the lines', async (t) => {
  const counts = [
    { submitted: 1, known: 0, refused: 0, elapsedMs: 40 },
    { submitted: 20_000, known: 0, refused: 0, elapsedMs: 1300 },
    { submitted: 20_000, known: 12, refused: 1, elapsedMs: 1300 },
    { submitted: 0, known: 0, refused: 3, elapsedMs: 1 },
  ]
  golden(t, 'submit/counted', counts.map((count) => `${showCounted(count)}\n`).join(''))
})

t.test('what was broken off is gone on with, and nothing is submitted twice', async (t) => {
  const requestIdPrefix = 'spring'
  const unknown = { outcomeUnknown: true, requestId: 'spring-4711' }
  const errors = [
    new TenureError('CLIENT_DISCONNECTED', 'the connection was lost before the answer', unknown),
    new TenureError('CLIENT_UNREACHABLE', 'no connection within 30000 ms'),
    new TenureError('CLIENT_ABORTED', 'aborted by its signal', unknown),
    new Error('ENOENT: no such \u001b[2Jfile'),
  ]
  const told = errors.map((error) => {
    const brokenOff = { fromLine: 4711, error }
    return tellHowToGoOn({ requestIdPrefix, brokenOff, refused: 0 }).join('\n')
  })
  golden(t, 'submit/broken-off', `${told.join('\n\n')}\n`)
  const refused = [0, 1, 2].map((refused) => {
    return tellHowToGoOn({ requestIdPrefix, brokenOff: undefined, refused }).join('\n')
  })
  golden(t, 'submit/refused', `${refused.join('\n')}\n`)
})

t.test('a progress line is for terminals only', async (t) => {
  const written: string[] = []
  const stderr = { fd: 2, write: (text: string | Uint8Array) => written.push(String(text)) }
  const line = new ProgressLine({ stderr, env: {} })
  line.update(() => 'never')
  line.clear()
  t.same(written, [])
})
