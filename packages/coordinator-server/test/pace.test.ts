import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { nodeDisk } from '@tenure/wal'
import t from 'tap'
import { calmDisk, calmPieceBytes } from '../src/checkpoints/calm-disk.js'
import { createPaceCell, hurry, Pace, restsOf } from '../src/checkpoints/pace.js'

/** Work that took so long, as a clock says that is asked before it and behind it. */
function worked(ms: number): () => number {
  const answers = [0, ms]
  return () => answers.shift() ?? ms
}

t.test('who has worked rests six times as long', (t) => {
  const pace = new Pace(createPaceCell(), worked(5))
  const begunMs = performance.now()
  pace.rest()
  t.ok(performance.now() - begunMs >= 29)
  t.end()
})

t.test('less than a millisecond of work earns no rest', (t) => {
  const cell = createPaceCell()
  let asked = 0
  const pace = new Pace(cell, () => asked++ * 0.9)
  pace.rest()
  t.equal(asked, 2, 'the clock is not set anew: small pieces add up')
  t.end()
})

t.test('who is hurried rests no more', (t) => {
  const cell = createPaceCell()
  hurry(cell)
  new Pace(cell, worked(600_000)).rest()
  t.pass('at once')
  t.end()
})

t.test('a disk that hung for a while earns no rest of minutes', (t) => {
  const begunMs = performance.now()
  const pace = new Pace(createPaceCell(), worked(30_000))
  pace.rest()
  t.ok(performance.now() - begunMs < 20_000)
  t.end()
})

t.test('how long the rests took is told', (t) => {
  const answers = [0, 5, 25, 26, 30]
  const pace = new Pace(createPaceCell(), () => answers.shift()!, 1)
  pace.rest()
  t.equal(pace.restedMs, 20)
  pace.rest()
  t.equal(pace.restedMs, 24)
  t.end()
})

t.test('who is hurried while it rests wakes up', async (t) => {
  const cell = createPaceCell()
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.module).then(({ Pace }) => {
      let nowMs = 0
      const pace = new Pace(workerData.cell, () => (nowMs += 600_000), 600_000)
      pace.rest()
      parentPort.postMessage('awake')
    })`
  const module = new URL('../src/checkpoints/pace.js', import.meta.url).href
  const thread = new Worker(program, { eval: true, workerData: { cell, module }, execArgv: [] })
  const awake = once(thread, 'message')
  while (restsOf(cell) === 0) await turn()
  hurry(cell)
  t.same(await awake, ['awake'])
  await thread.terminate()
})

t.test('a calm disk rests before each piece that it reads or writes', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'file')
  writeFileSync(path, 'abc')
  let rests = 0
  const disk = calmDisk(nodeDisk, () => rests++)
  const file = await disk.open(path, 'write')
  t.teardown(() => file.close())
  t.equal(await file.size(), 3)
  t.equal(rests, 0)
  t.equal(await file.write(Buffer.from('d'), 3), 1)
  t.equal(file.writeOnLoop(Buffer.from('e'), 4), 1)
  await file.sync()
  const into = Buffer.alloc(5)
  t.equal(await file.read(into, 0), 5)
  t.equal(into.toString(), 'abcde')
  t.equal(rests, 3)
  writeFileSync(path, Buffer.alloc(calmPieceBytes + 1))
  const pieces = 'however much is asked for, it reads no more before it rests again'
  t.equal(await file.read(Buffer.alloc(calmPieceBytes + 1), 0), calmPieceBytes, pieces)
  t.same(await disk.list(directory), ['file'], 'whatever else is as quick as ever')
})
