import type { State } from '../state/state.js'
import type { Line } from '../store/line.js'
import { comesBefore, states } from '../store/task-rows.js'

/** Where the lines differ from what sorting all tasks gives, or are broken in themselves. */
export function* findLineFaults(state: State): Generator<string> {
  const { authoritative, derived } = state
  const { queues } = authoritative
  const inLine = standing(state)
  yield* compare('the line of leased tasks', derived.leased, inLine.leased)
  yield* compare('the line of ended tasks', derived.ended, inLine.ended)
  if (derived.ended.heaped > 0) yield 'the line of ended tasks is no chain'
  for (const [number, line] of derived.waiting.entries()) {
    if (line === undefined) continue
    const scanned = inLine.waiting.get(number) ?? []
    yield* compare(`the line of queue ${queues.text(number)}`, line, scanned)
    if (!(queues.uses(number) > 0)) yield `there is a line of queue ${number}, which is gone`
    inLine.waiting.delete(number)
  }
  for (const number of inLine.waiting.keys())
    yield `the tasks of queue ${queues.text(number)} stand in no line`
}

/** The tasks that have to stand in each line, in the order in which they have to. */
function standing({ authoritative, derived }: State) {
  const { tasks } = authoritative
  const leased: number[] = []
  const ended: number[] = []
  const waiting = new Map<number, number[]>()
  for (const row of tasks.rows()) {
    // Who is withheld may stand in line again: the record has come, the release has not.
    if (derived.withheld.has(row) && tasks.place.get(row) === 0) continue
    const state = tasks.state.get(row)
    if (state === states.LEASED) leased.push(row)
    else if (state > states.LEASED) ended.push(row)
    else listOf(waiting, tasks.queue.get(row)).push(row)
  }
  for (const rows of [leased, ended, ...waiting.values()])
    rows.sort((a, b) => (comesBefore(tasks, a, b) ? -1 : 1))
  return { leased, ended, waiting }
}

function listOf(lists: Map<number, number[]>, number: number): number[] {
  const known = lists.get(number)
  if (known !== undefined) return known
  const list: number[] = []
  lists.set(number, list)
  return list
}

function* compare(name: string, line: Line, scanned: readonly number[]): Generator<string> {
  let isBroken = false
  for (const fault of line.faults()) {
    isBroken = true
    yield `${name} ${fault}`
  }
  // A walk along broken links may lead round and round.
  if (isBroken) return
  const rows = [...line.rows()]
  const wrong = scanned.findIndex((row, index) => row !== rows[index])
  if (rows.length !== scanned.length)
    yield `${name} has ${rows.length} tasks, not ${scanned.length}`
  else if (wrong !== -1) yield `${name} is out of order at place ${wrong}`
}
