import t from 'tap'
import { playSeeds } from '../src/play/crew.js'
import { explore } from '../src/play/explore.js'
import type { Failure } from '../src/play/tally.js'

const stubborn = { program: new URL('./stubborn-thread.js', import.meta.url), patienceMs: 3000 }

const lost = [
  { seed: 2, log: 'any', check: 'a scenario ends', message: 'it did not end within 3 s' },
  { seed: 4, log: 'any', check: 'a scenario leaves its thread alive', message: 'code 9' },
  {
    seed: 6,
    log: 'any',
    check: 'a scenario leaves its thread alive',
    message: 'Error: as planned',
  },
]

t.test('a seed that ends its thread loses no other seed', async (t) => {
  let seed = 1
  const told: Failure[] = []
  const { seeds, endings, failures } = await playSeeds({
    ...stubborn,
    threads: 1,
    next: () => (seed <= 8 ? seed++ : undefined),
    onProgress: () => {},
    onLoss: (failure) => told.push(failure),
    // The timer fires for the seed that never ends, and for no other.
    setTimer: (_, callback) => atOnce(seed - 1 === 2, callback),
  })
  t.equal(seeds, 8)
  t.same(endings, { drained: 5, lost: 3 })
  t.same(failures, lost)
  t.same(told, lost, 'lost seeds are reported immediately')
})

t.test('lost seeds are not played again, but their command is printed', async (t) => {
  const written: string[] = []
  const range = {
    seed: 2,
    seeds: 1,
    minutes: undefined,
    threads: 1,
    first: false,
    log: 'any' as const,
  }
  const output = { write: (text: string) => written.push(text) }
  const { failures, shrunk } = await explore(range, output, {
    ...stubborn,
    setTimer: (_, callback) => atOnce(true, callback),
  })
  t.same(failures, lost.slice(0, 1))
  t.same(shrunk, [])
  t.match(written.join(''), /VIOLATED a scenario ends\n.*\n *pnpm sim --seed 2\n/)
})

/** A timer that fires in the next turn of the loop, or never. */
function atOnce(rings: boolean, callback: () => void) {
  const timer = rings ? setImmediate(callback) : undefined
  return { cancel: () => clearImmediate(timer) }
}
