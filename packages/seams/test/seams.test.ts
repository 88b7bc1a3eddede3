import { execFileSync } from 'node:child_process'
import t from 'tap'
import { systemClock, systemRandom } from '../src/index.js'

/** Run in a process of its own; `clock` is the system's. */
function run(script: string): string {
  const index = new URL('../src/index.js', import.meta.url).href
  const source = `import { systemClock as clock } from '${index}'\n${script}`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
    encoding: 'utf8',
    timeout: 300_000,
  })
}

t.test('a timer calls back once, no earlier than it was set for', async (t) => {
  const startedMs = systemClock.monotonicMs()
  const calls: number[] = []
  await new Promise<void>((resolve) => {
    systemClock.setTimer(20, () => {
      calls.push(systemClock.monotonicMs() - startedMs)
      systemClock.soon(resolve)
    })
  })
  t.equal(calls.length, 1)
  // Node counts timers in whole milliseconds of its loop, whose time may be one behind.
  t.ok(calls[0]! >= 19, `${calls[0]} ms`)
})

t.test('a timer that is cancelled never calls back', async (t) => {
  let calls = 0
  const timer = systemClock.setTimer(0, () => calls++)
  timer.cancel()
  await new Promise<void>((resolve) => systemClock.setTimer(1, resolve))
  t.equal(calls, 0)
})

t.test('a delay of more than 24 days does not call back at once', (t) => {
  const said = run(`
    const far = clock.setTimer(2 ** 31, () => console.log('far'))
    clock.setTimer(5, () => { console.log('near'); far.cancel() })
  `)
  t.equal(said, 'near\n')
  t.end()
})

t.test('a process waits for a timer, and not for one in the background', (t) => {
  const said = run(`
    clock.setTimer(600_000, () => console.log('background'), 'background')
    clock.setTimer(5, () => console.log('foreground'))
  `)
  t.equal(said, 'foreground\n')
  t.end()
})

t.test('`now` is whole milliseconds of the wall clock', (t) => {
  const before = Date.now()
  const now = systemClock.now()
  t.ok(Number.isSafeInteger(now))
  t.ok(before <= now && now <= Date.now())
  t.end()
})

t.test('chance stays below one, and never makes an id twice', (t) => {
  const ids = new Set(Array.from({ length: 1000 }, () => systemRandom.id()))
  t.equal(ids.size, 1000)
  const numbers = Array.from({ length: 1000 }, () => systemRandom.next())
  t.ok(numbers.every((number) => number >= 0 && number < 1))
  t.ok(new Set(numbers).size > 900)
  t.end()
})
