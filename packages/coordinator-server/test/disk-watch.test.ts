import t from 'tap'
import { DiskWatch } from '../src/disk-watch.js'

t.test('a disk that gets low is told once, and that there is enough again', async (t) => {
  let free = 2000
  const told: (boolean | number)[][] = []
  const watch = new DiskWatch(async () => free, 1000, {
    diskLow: (...what) => told.push(what),
  })
  for (const bytes of [2000, 1000, 999, 500, 1000, 1099, 1100, 1050, 999]) {
    free = bytes
    await watch.look()
    t.equal(watch.freeBytes, bytes)
  }
  t.same(told, [
    [true, 999],
    [false, 1100],
    [true, 999],
  ])
})

t.test('a disk that does not say how much room it has is no full disk', async (t) => {
  const watch = new DiskWatch(() => Promise.reject(new Error('EIO')), 1000, {
    diskLow: () => t.fail('told'),
  })
  await watch.look()
  t.ok(Number.isNaN(watch.freeBytes))
})
