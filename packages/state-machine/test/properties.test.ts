import fc from 'fast-check'
import t from 'tap'
import { histories, type Step } from './history.js'
import { Play } from './play.js'

const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 2000)

t.test(`${numRuns} random histories of legal and illegal records`, (t) => {
  const counts = new Map<string, number>()
  const play = (steps: Step[], cut: number) => new Play(counts, cut % steps.length).through(steps)
  fc.assert(fc.property(histories, fc.nat(), play), { numRuns })

  const listed = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [outcome, times] of listed) t.comment(`${String(times).padStart(8)} ${outcome}`)
  const rules = listed.filter(([outcome]) => outcome.startsWith('refused')).length
  t.ok(rules >= 24, `${rules} pairs of a record and a rule that it broke`)
  t.end()
})
