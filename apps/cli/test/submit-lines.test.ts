import type { Host } from '@tenure/app-kit'
import { RejectedError, type Tenure, TenureError } from '@tenure/client'
import t from 'tap'
import { ProgressLine } from '../src/terminal/progress.js'
import { submitMany } from '../src/verbs/submit/lines.js'
import { readLines } from '../src/verbs/submit/lines-input.js'
import {
  describeContinuation,
  LinesReporter,
  showCounted,
} from '../src/verbs/submit/lines-report.js'
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

t.test('lines are the bytes between line feeds, independent of chunks', async (t) => {
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

t.test('a final line feed does not begin another line', async (t) => {
  t.same((await linesOf([Buffer.from('one\n')])).length, 1)
  t.same(await linesOf([]), [])
})

t.test('input without line feeds does not fill the memory', async (t) => {
  const chunk = Buffer.alloc(16 * 1024 * 1024, 'x')
  const endless = (function* () {
    for (;;) yield chunk
  })()
  await t.rejects(linesOf(endless), /^line 1 is longer than 67108864 bytes$/)
})

t.test('the summary counts the outcomes of the lines', async (t) => {
  const counts = [
    { submitted: 1, known: 0, refused: 0, elapsedMs: 40 },
    { submitted: 20_000, known: 0, refused: 0, elapsedMs: 1300 },
    { submitted: 20_000, known: 12, refused: 1, elapsedMs: 1300 },
    { submitted: 0, known: 0, refused: 3, elapsedMs: 1 },
  ]
  golden(t, 'submit/counted', counts.map((count) => `${showCounted(count)}\n`).join(''))
})

t.test('an interrupted run prints how to continue without submitting twice', async (t) => {
  const requestIdPrefix = 'spring'
  const unknown = { outcomeUnknown: true, requestId: 'spring-4711' }
  const errors = [
    new TenureError('CLIENT_DISCONNECTED', 'the connection was lost before the answer', unknown),
    new TenureError('CLIENT_UNREACHABLE', 'no connection within 30000 ms'),
    new TenureError(
      'CLIENT_ABORTED',
      'the call was aborted by the AbortSignal that it was given',
      unknown,
    ),
    new Error('ENOENT: no such \u001b[2Jfile'),
  ]
  const told = errors.map((error) => {
    const interruption = { fromLine: 4711, error }
    return describeContinuation({ requestIdPrefix, interruption, refused: 0 }).join('\n')
  })
  golden(t, 'submit/broken-off', `${told.join('\n\n')}\n`)
  const refused = [0, 1, 2].map((refused) => {
    return describeContinuation({ requestIdPrefix, interruption: undefined, refused }).join('\n')
  })
  golden(t, 'submit/refused', `${refused.join('\n')}\n`)
})

t.test('an interrupted run continues at the first rejected line', async (t) => {
  const error = new TenureError('CLIENT_DISCONNECTED', 'the connection was lost')
  const interruption = { fromLine: 9000, error }
  const told = [1, 2].map((refused) => {
    const continuation = { requestIdPrefix: 'spring', interruption, refused, firstRefusedLine: 12 }
    return describeContinuation(continuation).join('\n')
  })
  golden(t, 'submit/broken-off-refused', `${told.join('\n\n')}\n`)
})

t.test('the first rejected line is remembered', async (t) => {
  const output = { fd: 2, isTTY: false, write: () => {} }
  const host = { stdout: output, stderr: output, env: {} } as unknown as Host
  const reporter = new LinesReporter(host, false, undefined)
  const line = (number: number) => ({ number, end: number, bytes: new Uint8Array(1) })
  const tooLarge = new RejectedError({ reason: 'TOO_LARGE', message: 'no' })
  reporter.submitted(line(11), { taskId: 1, known: false })
  for (const number of [12, 13]) reporter.refused(line(number), tooLarge)
  t.match(reporter.end(), { submitted: 1, refused: 2, firstRefusedLine: 12 })
})

t.test('a progress line is for terminals only', async (t) => {
  const { written, line, pass } = progressOn({ isTTY: false, columns: 80 })
  pass(10_000)
  line.update(() => 'never')
  line.clear()
  t.same(written, [])
})

t.test('a progress line appears after one second and is updated at intervals', async (t) => {
  const { written, line, pass } = progressOn({ isTTY: true, columns: 40 })
  line.update(() => 'never')
  pass(999)
  line.update(() => 'never')
  line.clear()
  t.same(written, [], 'nothing to clear')
  pass(1)
  line.update((elapsedMs) => `after ${elapsedMs}`)
  pass(199)
  line.update(() => 'never')
  pass(1)
  line.update((elapsedMs) => `after ${elapsedMs}, ${'x'.repeat(40)}`)
  line.clear()
  line.clear()
  golden(t, 'submit/progress-line', written.join('\n'))
})

function progressOn(terminal: { isTTY: boolean; columns: number }) {
  const written: string[] = []
  let now = 5000
  const stderr = { fd: 2, ...terminal, write: (text: unknown) => written.push(String(text)) }
  return {
    written,
    line: new ProgressLine({ stderr, env: {} }, () => now),
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test('the remaining time is computed from the first submitted line', async (t) => {
  const written: string[] = []
  let now = 0
  const write = (text: unknown) => written.push(String(text))
  const output = { fd: 2, isTTY: true, columns: 80, write }
  const host = { stdout: output, stderr: output, env: {} } as unknown as Host
  const reporter = new LinesReporter(host, false, 1000, () => now)
  const line = (number: number, end: number) => ({ number, end, bytes: new Uint8Array(100) })
  reporter.submitted(line(8, 800), { taskId: 1, known: false })
  now = 2000
  reporter.submitted(line(9, 850), { taskId: 2, known: false })
  t.same(written, ['\r\u001b[K2 lines, 1.0/s, 50 %, 2.0 s left'])
})

/** Submits lines with a client that returns the given outcomes. */
async function submitOver(outcomes: readonly object[], lines: string, fromLine = 1) {
  const seen: unknown[] = []
  const told: string[] = []
  const tenure = {
    async *submitMany(items: AsyncIterable<{ payload: Uint8Array; requestId: string }>) {
      for await (const { payload, requestId } of items) {
        seen.push(`${requestId} ${Buffer.from(payload)}`)
        const outcome = outcomes[seen.length - 1]
        if (outcome instanceof Error) throw outcome
        yield outcome ?? { ok: true, taskId: seen.length, known: false }
      }
    },
  }
  const source = (async function* () {
    yield Buffer.from(lines)
  })()
  const signal = new AbortController().signal
  const interruption = await submitMany(
    tenure as unknown as Tenure,
    readLines(source),
    { requestIdPrefix: 'p', fromLine, signal, queue: 'mail' },
    {
      submitted: ({ number }, { taskId }) => told.push(`${number} is task ${taskId}`),
      refused: ({ number }, { message }) => told.push(`${number} is refused: ${message}`),
    },
  )
  return { interruption, seen, told }
}

t.test('an error of one line does not stop the run; an error of every line does', async (t) => {
  const refused = (reason: 'TOO_LARGE' | 'NO_SPACE') => {
    return { ok: false, error: new RejectedError({ reason, message: 'no' }) }
  }
  const outcomes = [refused('TOO_LARGE'), { ok: true, taskId: 9, known: true }, refused('NO_SPACE')]
  const { interruption, told } = await submitOver(outcomes, 'a\n\nb\nc\nd\n')
  t.same(told, ['1 is refused: TOO_LARGE: no', '3 is task 9'])
  t.match(interruption, { fromLine: 4, error: { reason: 'NO_SPACE' } })
})

t.test('lines keep their numbers with --from-line', async (t) => {
  const { seen, told, interruption } = await submitOver([], 'a\n\nb\nc', 3)
  t.same(seen, ['p-3 b', 'p-4 c'])
  t.same(told, ['3 is task 1', '4 is task 2'])
  t.equal(interruption, undefined)
})

t.test('if the client gives up, the run continues after the last answer', async (t) => {
  const error = new TenureError('CLIENT_CLOSED', 'the client is closed')
  const { interruption } = await submitOver(
    [{ ok: true, taskId: 1, known: false }, error],
    'a\nb\nc',
  )
  t.match(interruption, { fromLine: 2, error })
})
