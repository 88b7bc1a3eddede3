import fc from 'fast-check'
import t from 'tap'
import { histories, type Position, type Step, starts } from './history.js'
import { Play } from './play.js'

const usualRuns = 2000
const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? usualRuns)
// Long runs on request have no time limit.
if (numRuns > usualRuns) t.setTimeout(0)
// A new seed for each run. It is printed, and setting it repeats the run.
const seed = Number(process.env.TENURE_SEED ?? Math.floor(Math.random() * 2 ** 31))

t.test(`${numRuns} random histories of legal and illegal records`, (t) => {
  t.comment(`seed ${seed}`)
  const counts = new Map<string, number>()
  const play = (steps: Step[], cut: number, start: Position) =>
    new Play(counts, cut % steps.length, start).through(steps)
  fc.assert(fc.property(histories, fc.nat(), starts, play), { numRuns, seed })

  const listed = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [outcome, times] of listed) t.comment(`${String(times).padStart(8)} ${outcome}`)
  const rules = listed.filter(([outcome]) => outcome.startsWith('refused')).length
  t.ok(rules >= 24, `${rules} pairs of a record and a broken rule`)
  t.end()
})
