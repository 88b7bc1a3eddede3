import t from 'tap'
import { shipped } from '../src/machine/subject.js'
import { quickScopes, type Scope } from '../src/scope.js'
import { Search } from '../src/search.js'
import type { Node, Recipe } from '../src/states/node.js'

/**
 * A node's key leaves out much of a coordinator's memory: timers, the inner order of its indexes,
 * known peers. This test justifies that: wherever two paths lead to one key, every next action
 * leads to the same key and the same answers.
 */
async function compareWays(scope: Scope, statesMax: number): Promise<number> {
  let compared = 0
  const seen = new Set<Node>()
  const onOtherWay = async (search: Search, node: Node, recipe: Recipe) => {
    if (seen.has(node)) return
    seen.add(node)
    compared++
    const [one, other] = [await search.behaviour(node.recipe), await search.behaviour(recipe)]
    for (const action of new Set([...one.keys(), ...other.keys()])) {
      if (one.get(action) === other.get(action)) continue
      throw new Error(`two ways to ${node.key}: ${one.get(action)} and ${other.get(action)}`)
    }
  }
  const search = new Search({ scope, subject: shipped, order: 'states', statesMax, onOtherWay })
  const finding = await search.run()
  if (finding !== undefined) throw new Error(`${finding.rule}: ${finding.found}`)
  return compared
}

const [quick, full] = quickScopes
const oneTask = { ...quick!, tasks: 1, recordsMax: 5, pollMs: 0 }

t.test('all paths to a state have the same continuations', async (t) => {
  t.ok((await compareWays(oneTask, 800)) > 200)
})

t.test('all paths agree with two concurrent requests and waiting lease requests', async (t) => {
  const busy = { ...quick!, requestsInFlight: 2 }
  t.ok((await compareWays(busy, 800)) > 200)
})

t.test('all paths agree with a worker that is full for a while', async (t) => {
  t.ok((await compareWays(full!, 800)) > 200)
})
