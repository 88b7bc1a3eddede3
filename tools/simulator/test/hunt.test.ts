import t from 'tap'
import type { Bug } from '../src/bugs/bug.js'
import { bugs, hunt, huntBug } from '../src/bugs/hunt.js'
import { requireFit } from '../src/bugs/plant.js'
import type { Failure } from '../src/play/tally.js'

const bug: Bug = {
  name: 'a bug',
  what: 'of no code at all',
  edits: [],
  seedsMax: 100,
  foundBy: [
    { check: 'a task has one owner' },
    { check: 'no unexpected error occurs', message: /^Error: as planned$/ },
  ],
}

const owners: Failure = {
  seed: 7,
  log: 'any',
  check: 'a task has one owner',
  message: 'two owners',
}
const planned: Failure = {
  seed: 5,
  log: 'any',
  check: 'no unexpected error occurs',
  message: 'Error: as planned',
}
const other: Failure = { ...planned, seed: 3, message: 'ReferenceError: x is not defined' }
const hung: Failure = {
  seed: 4,
  log: 'any',
  check: 'a scenario ends',
  message: 'it did not end within 60 s',
}

/** Plays seeds, of which these fail. */
function playerOf(...failures: readonly Failure[]) {
  return async (seed: number, seeds: number) =>
    failures.find((failure) => failure.seed >= seed && failure.seed < seed + seeds)
}

t.test('every bug fits the code', (t) => {
  for (const one of bugs) t.doesNotThrow(() => requireFit(one))
  const edit = { file: 'tools/simulator/dist/src/bugs/hunt.js', old: 'not there', new: '' }
  t.throws(() => requireFit({ ...bug, edits: [edit] }), { message: /does not fit: .* 0 times/ })
  t.end()
})

t.test('a bug is found by its own checks and their messages', async (t) => {
  const sound = playerOf()
  t.match(await huntBug(bug, { planted: playerOf(owners), sound }), {
    isFound: true,
    seeds: 7,
    check: 'a task has one owner',
    others: [],
  })
  t.match(await huntBug(bug, { planted: playerOf(planned), sound }), { isFound: true, seeds: 5 })
})

t.test('other failures are reported, and the hunt continues', async (t) => {
  const planted = playerOf(other, hung, owners)
  const { isFound, seeds, others } = await huntBug(bug, { planted, sound: playerOf() })
  t.ok(isFound)
  t.equal(seeds, 7)
  t.same(others, [
    { ...other, why: 'not a sign of the bug' },
    { ...hung, why: 'not a sign of the bug' },
  ])
})

t.test('a seed that also fails without the bug does not count', async (t) => {
  const planted = playerOf(planned, owners)
  const found = await huntBug(bug, { planted, sound: playerOf({ ...other, seed: 5 }) })
  t.equal(found.seeds, 7)
  t.same(found.others, [{ ...planned, why: 'also fails without the bug' }])
  const all = { planted, sound: playerOf(planned, owners) }
  t.match(await huntBug(bug, all), { isFound: false, seeds: 100 })
})

t.test('the number of seeds and of other failures is limited', async (t) => {
  const sound = playerOf()
  const late = playerOf({ ...owners, seed: 101 })
  t.match(await huntBug(bug, { planted: late, sound }), { isFound: false, others: [] })
  let plays = 0
  const always = async (seed: number) => {
    plays++
    return { ...hung, seed }
  }
  t.notOk((await huntBug(bug, { planted: always, sound })).isFound)
  t.equal(plays, 10)
})

t.test('code that does not run does not count as a found bug', async (t) => {
  const file = 'packages/coordinator-server/dist/src/decide/lease-judgement.js'
  const old = 'now < standing.leaseExpiry ?'
  const edits = [{ file, old, new: `nobodyKnowsThis && ${old}` }]
  const broken: Bug = { ...bug, edits, seedsMax: 3 }
  const { found, bugs } = await hunt([broken], 1, { write: () => {} })
  t.equal(found, 0)
  t.match(bugs[0]?.others[0], { message: /ReferenceError.*nobodyKnowsThis/ })
})
