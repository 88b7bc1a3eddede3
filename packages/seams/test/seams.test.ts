import { execFileSync } from 'node:child_process'
import t from 'tap'
import { systemClock, systemRandom } from '../src/index.js'

/** Runs the script in a separate process, with the system clock as `clock`. */
function run(script: string): string {
  const index = new URL('../src/index.js', import.meta.url).href
  const source = `import { systemClock as clock } from '${index}'\n${script}`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
    encoding: 'utf8',
    timeout: 300_000,
  })
}

t.test('a timer calls back once, and not early', async (t) => {
  const startedMs = systemClock.monotonicMs()
  const calls: number[] = []
  await new Promise<void>((resolve) => {
    systemClock.setTimer(20, () => {
      calls.push(systemClock.monotonicMs() - startedMs)
      systemClock.soon(resolve)
    })
  })
  t.equal(calls.length, 1)
  // Node rounds timers to whole milliseconds of its loop time, which may be up to 1 ms old.
  t.ok(calls[0]! >= 19, `${calls[0]} ms`)
})

t.test('a cancelled timer never calls back', async (t) => {
  let calls = 0
  const timer = systemClock.setTimer(0, () => calls++)
  timer.cancel()
  await new Promise<void>((resolve) => systemClock.setTimer(1, resolve))
  t.equal(calls, 0)
})

t.test('a delay of more than 24 days does not call back immediately', (t) => {
  const said = run(`
    const far = clock.setTimer(2 ** 31, () => console.log('far'))
    clock.setTimer(5, () => { console.log('near'); far.cancel() })
  `)
  t.equal(said, 'near\n')
  t.end()
})

t.test('a timer keeps the process alive unless it is in the background', (t) => {
  const said = run(`
    clock.setTimer(600_000, () => console.log('background'), 'background')
    clock.setTimer(5, () => console.log('foreground'))
  `)
  t.equal(said, 'foreground\n')
  t.end()
})

t.test('`now` returns whole milliseconds of the wall clock', (t) => {
  const before = Date.now()
  const now = systemClock.now()
  t.ok(Number.isSafeInteger(now))
  t.ok(before <= now && now <= Date.now())
  t.end()
})

t.test('random numbers stay below 1 and ids are unique', (t) => {
  const ids = new Set(Array.from({ length: 1000 }, () => systemRandom.id()))
  t.equal(ids.size, 1000)
  const numbers = Array.from({ length: 1000 }, () => systemRandom.next())
  t.ok(numbers.every((number) => number >= 0 && number < 1))
  t.ok(new Set(numbers).size > 900)
  t.end()
})
