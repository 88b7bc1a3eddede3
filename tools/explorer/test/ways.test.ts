import t from 'tap'
import { shipped } from '../src/machine/subject.js'
import { quickScopes, type Scope } from '../src/scope.js'
import { Search } from '../src/search.js'
import type { Node, Recipe } from '../src/states/node.js'

/**
 * A node's key leaves out much of what a coordinator has in memory: timers, the inner order of its
 * indexes, who was heard of. Here is what says that it may: wherever two ways lead to one key, all
 * that can happen next leads to the same keys by both, and the same is heard.
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

t.test('whichever way leads to a state, the same follows from it', async (t) => {
  t.ok((await compareWays(oneTask, 800)) > 200)
})

t.test('the same with two requests at once, and lease requests that wait', async (t) => {
  const busy = { ...quick!, requestsInFlight: 2 }
  t.ok((await compareWays(busy, 800)) > 200)
})

t.test('the same with a worker that seems to be full, and to have room again', async (t) => {
  t.ok((await compareWays(full!, 800)) > 200)
})
