import type { State } from '../state/state.js'
import type { DueList } from '../store/due-list.js'
import { comesBefore, states } from '../store/task-rows.js'

/** Differences between the due lists and a sort of all tasks, and broken links in the lists. */
export function* findDueListFaults(state: State): Generator<string> {
  const { authoritative, derived } = state
  const { queues } = authoritative
  const expected = expectedLists(state)
  yield* compare('the due list of leased tasks', derived.leased, expected.leased)
  yield* compare('the due list of ended tasks', derived.ended, expected.ended)
  if (derived.ended.heaped > 0) yield 'the due list of ended tasks uses its heap'
  for (const [number, line] of derived.waiting.entries()) {
    if (line === undefined) continue
    const scanned = expected.waiting.get(number) ?? []
    yield* compare(`the due list of queue ${queues.text(number)}`, line, scanned)
    if (!(queues.uses(number) > 0)) yield `there is a due list of queue ${number}, which is gone`
    expected.waiting.delete(number)
  }
  for (const number of expected.waiting.keys())
    yield `the tasks of queue ${queues.text(number)} are in no due list`
}

/** The tasks that each due list must contain, in order. */
function expectedLists({ authoritative, derived }: State) {
  const { tasks } = authoritative
  const leased: number[] = []
  const ended: number[] = []
  const waiting = new Map<number, number[]>()
  for (const row of tasks.rows()) {
    // A withheld task may already be back in a list, if the record was applied before the release.
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

function* compare(name: string, line: DueList, scanned: readonly number[]): Generator<string> {
  let isBroken = false
  for (const fault of line.faults()) {
    isBroken = true
    yield `${name} ${fault}`
  }
  // A walk along broken links may never end.
  if (isBroken) return
  const rows = [...line.rows()]
  const wrong = scanned.findIndex((row, index) => row !== rows[index])
  if (rows.length !== scanned.length)
    yield `${name} has ${rows.length} tasks, not ${scanned.length}`
  else if (wrong !== -1) yield `${name} is out of order at place ${wrong}`
}
