import t from 'tap'
import { playSeeds } from '../src/play/crew.js'
import { explore } from '../src/play/explore.js'
import type { Failure } from '../src/play/tally.js'

const stubborn = { program: new URL('./stubborn-thread.js', import.meta.url), patienceMs: 3000 }

const lost = [
  { seed: 2, check: 'a scenario ends', message: 'it has not after 3 s' },
  { seed: 4, check: 'a scenario does not end its thread', message: 'code 9' },
  { seed: 6, check: 'a scenario does not end its thread', message: 'Error: as planned' },
]

t.test('a seed that takes its thread with it takes no other seed', async (t) => {
  let seed = 1
  const told: Failure[] = []
  const { seeds, endings, failures } = await playSeeds({
    ...stubborn,
    threads: 1,
    next: () => (seed <= 8 ? seed++ : undefined),
    onProgress: () => {},
    onLoss: (failure) => told.push(failure),
    // Time is over for the seed that never comes back, and for no other.
    setTimer: (_, callback) => atOnce(seed - 1 === 2, callback),
  })
  t.equal(seeds, 8)
  t.same(endings, { drained: 5, lost: 3 })
  t.same(failures, lost)
  t.same(told, lost, 'and it is told of at once')
})

t.test('what was lost is not played again, but one is told how to', async (t) => {
  const written: string[] = []
  const range = { seed: 2, seeds: 1, minutes: undefined, threads: 1, first: false }
  const output = { write: (text: string) => written.push(text) }
  const { failures, shrunk } = await explore(range, output, {
    ...stubborn,
    setTimer: (_, callback) => atOnce(true, callback),
  })
  t.same(failures, lost.slice(0, 1))
  t.same(shrunk, [])
  t.match(written.join(''), /VIOLATED a scenario ends\n.*\n *pnpm sim --seed 2\n/)
})

/** A timer that rings in the next turn of the loop, or never. */
function atOnce(rings: boolean, callback: () => void) {
  const timer = rings ? setImmediate(callback) : undefined
  return { cancel: () => clearImmediate(timer) }
}
