import { forecast, type WhatIfKnobs } from '@tenure/history'
import { Book, writeLog } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { type Display, plain } from '../src/terminal/display.js'
import { widthOf } from '../src/terminal/text.js'
import { assumptionsOf } from '../src/verbs/log/whatif/assumptions.js'
import { showShare } from '../src/verbs/log/whatif/settings.js'
import { showForecast } from '../src/verbs/log/whatif/show.js'
import { golden } from './golden.js'
import { type } from './terminal.js'
import { run } from './world.js'

/** A lease of 10 s, and a late report 12 s after the grant. */
function silentFor12s(): Book {
  const book = new Book({ leaseMs: 10_000 })
  const task = book.submit()
  const slow = book.lease(task, 'slow\u001b[31m')
  book.expire(slow)
  const quick = book.wait(500).lease(task, 'quick')
  book.wait(1500).cancel(slow)
  book.wait(1000).complete(quick)
  return book
}

/** One task for each way in which other options would have changed the outcome. */
function allSorts(): Book {
  const book = silentFor12s()
  const backoff = { kind: 'fixed', delayMs: 700 } as const
  const failing = book.submit({ retryPolicy: { maxRetries: 1, backoff } })
  for (let time = 0; time < 2; time++) book.wait(1000).fail(book.lease(failing))
  const late = book.lease(
    book.submit(),
    'a-worker-with-a-name-that-is-a-good-deal-too-long-for-this',
  )
  book.wait(9800).complete(late)
  const long = book.lease(book.submit())
  for (let time = 0; time < 6; time++) book.wait(3000).extend(long)
  book.complete(long)
  const cut = book.submit({ executionWindowMs: 5000 })
  book.expire(book.lease(cut))
  book.complete(book.wait(10).lease(cut))
  const poison = book.submit()
  for (let time = 0; time < 3; time++) book.expire(book.lease(poison))
  book.kill(poison, 'poison: 3 leases in a row expired')
  const down = book.lease(book.submit())
  book.wait(45_000).restart().expire(down, true)
  return book
}

async function directoryOf(t: Test, book: Book): Promise<string> {
  const directory = t.testdir()
  await writeLog(directory, book)
  return directory
}

function whatif(directory: string, ...flags: string[]) {
  return type(['log', 'whatif', directory, ...flags])
}

t.test('a lease of 15 s would have outlasted a silence of 12 s', async (t) => {
  const directory = await directoryOf(t, silentFor12s())
  const args = ['log', 'whatif', directory, '--lease-duration', '15s']
  const { stdout, stderr, code } = await run(t, args)
  t.same({ stderr, code }, { stderr: '', code: 0 })
  golden(t, 'whatif/lease', stdout)
  const json = await type([...args, '--json'])
  const told = JSON.parse(json.stdout)
  t.match(told.recorded, { executions: 2, leasesExpired: 1 })
  t.match(told.underKnobs, { executions: 1, leasesExpired: 0 })
  t.match(told.knobs, { leaseDurationMs: 15_000 })
  t.equal(json.stdout.split('\n').length, 2, 'one object in one line')
  t.notOk(json.stdout.includes('\u001b'))
  golden(t, 'whatif/lease-json', `${JSON.stringify(told, null, 2)}\n`)
})

t.test('without options the forecast equals the record', async (t) => {
  const directory = await directoryOf(t, allSorts())
  const { stdout } = await whatif(directory)
  golden(t, 'whatif/as-recorded', stdout)
})

const onTerminal: Display = { columns: 100, colours: true }

t.test('every cause has a text that fits in 100 columns', async (t) => {
  const book = allSorts()
  const shorter: WhatIfKnobs = {
    leaseDurationMs: 7000,
    executionWindowMs: 15_000,
    maxRetries: 0,
    backoff: { kind: 'exponential', initialMs: 100, maxMs: 3_600_000 },
    poisonThreshold: 2,
  }
  const longer: WhatIfKnobs = {
    leaseDurationMs: 60_000,
    executionWindowMs: 60_000,
    maxRetries: 9,
    backoff: { kind: 'fixed', delayMs: 60_000 },
    poisonThreshold: 0,
    heartbeatShare: 0.25,
  }
  for (const [name, knobs] of Object.entries({ shorter, longer })) {
    const told = await forecast([book.entries.slice(1)], knobs, book)
    const text = showForecast(told, assumptionsOf(told), plain)
    golden(t, `whatif/${name}`, text)
    const wide = text.split('\n').filter((line) => widthOf(line) > 100)
    t.same(wide, [], 'fits in 100 columns')
    t.notMatch(text, /[^\P{Cc}\n]/u, 'no control characters')
    t.ok(showForecast(told, assumptionsOf(told), onTerminal).includes('\u001b[1mrecorded'))
  }
  const nothing = await forecast([], {})
  t.match(showForecast(nothing, assumptionsOf(nothing), plain), /^The log has no records\.\n/)
})

t.test('all flags are passed to the forecast', async (t) => {
  const directory = await directoryOf(t, silentFor12s())
  const flags = [
    ...['--execution-window', '1m', '--max-retries', '5', '--poison-threshold', '4'],
    ...['--backoff', 'exponential', '--backoff-delay', '2s', '--heartbeat-share', '1/4'],
  ]
  const { stdout } = await whatif(directory, ...flags, '--json', '--examples', '0')
  t.match(JSON.parse(stdout).knobs, {
    executionWindowMs: 60_000,
    maxRetries: 5,
    poisonThreshold: 4,
    heartbeatShare: 0.25,
    backoff: { kind: 'exponential', initialMs: 2000, maxMs: 3_600_000 },
  })
})

t.test('invalid options are rejected before the log is read', async (t) => {
  const refused: [string[], RegExp][] = [
    [['--lease-duration', '5'], /--lease-duration is "5"; it must be a duration/],
    [['--lease-duration', '1ms'], /it must be a duration .* from 10ms to 1d/],
    [['--max-retries', '-1'], /--max-retries is "-1"; it must be a whole number/],
    [['--heartbeat-share', '2/3'], /--heartbeat-share is "2\/3"; it must be a share/],
    [['--heartbeat-share', '0'], /it must be a share \(1\/3, 0.25\), more than 0 and at most 0.5/],
    [['--backoff-delay', '1s'], /--backoff-delay requires --backoff/],
    [['--backoff-max', '1s'], /--backoff-max requires --backoff/],
    [['--backoff', 'fixed'], /--backoff requires --backoff-delay/],
    [
      ['--backoff', 'fixed', '--backoff-delay', '1s', '--backoff-max', '2s'],
      /--backoff-max requires --backoff exponential/,
    ],
  ]
  for (const [flags, message] of refused) {
    const { code, stdout, stderr } = await whatif('/nowhere', ...flags)
    t.same({ code, stdout }, { code: 2, stdout: '' })
    t.match(stderr, message)
  }
})

t.test('a missing log is one line', async (t) => {
  const { code, stdout, stderr } = await whatif('/nowhere', '--lease-duration', '15s')
  t.same({ code, stdout }, { code: 2, stdout: '' })
  t.equal(
    stderr,
    'tenure: directory /nowhere does not exist; use the --data-dir of a coordinator\n',
  )
})

t.test('a share is shown as a simple fraction if it is one', async (t) => {
  t.same([1 / 3, 0.25, 0.5, 0.3].map(showShare), ['1/3', '1/4', '1/2', '0.3'])
})
