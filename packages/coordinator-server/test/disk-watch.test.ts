import t from 'tap'
import { DiskWatch } from '../src/observe/disk-watch.js'

t.test('a disk that gets low is told once, and that there is enough again', async (t) => {
  let free = 2000
  const told: (boolean | number)[][] = []
  const watch = new DiskWatch(1000, {
    diskLow: (...what) => told.push(what),
  })
  for (const bytes of [2000, 1000, 999, 500, 1000, 1099, 1100, 1050, 999]) {
    free = bytes
    await watch.look({ freeBytes: async () => free })
    t.equal(watch.freeBytes, bytes)
  }
  t.same(told, [
    [true, 999],
    [false, 1100],
    [true, 999],
  ])
})

t.test('a disk that hangs is asked once', async (t) => {
  let asked = 0
  let answer = (_: number) => {}
  const hangs = {
    freeBytes() {
      asked++
      return new Promise<number>((resolve) => {
        answer = resolve
      })
    },
  }
  const watch = new DiskWatch(1000, {})
  const looks = [watch.look(hangs), watch.look(hangs), watch.look(hangs)]
  t.equal(asked, 1)
  answer(7)
  await Promise.all(looks)
  t.equal(watch.freeBytes, 7)
  watch.look(hangs).catch(() => {})
  t.equal(asked, 2)
})

t.test('a disk that does not say how much room it has is no full disk', async (t) => {
  const watch = new DiskWatch(1000, {
    diskLow: () => t.fail('told'),
  })
  await watch.look({ freeBytes: () => Promise.reject(new Error('EIO')) })
  t.ok(Number.isNaN(watch.freeBytes))
})
