import { Random } from '@tenure/testing'
import t from 'tap'
import { IndexedHeap } from '../src/polls/indexed-heap.js'

interface Item {
  key: number
  heapIndex: number
}

t.test('the smallest item is first, whichever items come, change and go', async (t) => {
  const random = new Random(7)
  const heap = new IndexedHeap<Item>((one, other) => one.key - other.key)
  const items: Item[] = []
  for (let step = 0; step < 5000; step++) {
    const item = random.chance(0.5) || items.length === 0 ? undefined : random.pick(items)
    if (item === undefined) {
      const added = { key: random.integer(50), heapIndex: 0 }
      items.push(added)
      heap.add(added)
    } else if (random.chance(0.5)) {
      item.key = random.integer(50)
      heap.update(item)
    } else {
      heap.remove(item)
      items.splice(items.indexOf(item), 1)
    }
    const least = items.length === 0 ? undefined : Math.min(...items.map(({ key }) => key))
    if (heap.first?.key !== least) throw new Error(`${heap.first?.key} is first, not ${least}`)
  }
  t.ok(items.length > 10)
})

t.test('an item costs as many comparisons as the heap is deep', async (t) => {
  let comparisons = 0
  const heap = new IndexedHeap<Item>((one, other) => {
    comparisons++
    return one.key - other.key
  })
  const items = Array.from({ length: 10_000 }, (_, key) => ({ key, heapIndex: 0 }))
  for (const item of items) heap.add(item)
  const random = new Random(7)
  let most = 0
  for (let step = 0; step < 1000; step++) {
    comparisons = 0
    const item = random.pick(items)
    heap.remove(item)
    item.key = random.integer(10_000)
    heap.add(item)
    item.key = random.integer(10_000)
    heap.update(item)
    most = Math.max(most, comparisons)
  }
  const depth = Math.ceil(Math.log2(10_000))
  t.ok(most <= 3 * (2 * depth + 2), `${most} comparisons`)
})
