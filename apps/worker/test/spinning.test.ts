import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CoordinatorObserver } from '@tenure/coordinator-server'
import t, { type Test } from 'tap'
import { handlerFile, makeDirectory, World } from './world.js'

t.test('a handler that spins keeps its lease: heartbeats go on beside it', async (t) => {
  const isolations = ['thread', 'process']
  const tasks = await Promise.all(isolations.map((isolation) => spin(t, isolation)))
  for (const task of tasks) t.match(task, { state: 'COMPLETED', attempt: 1, result: '"done"' })
})

async function spin(t: Test, isolation: string) {
  const { observer, extended } = heartbeats()
  const world = await World.start(t, { observer })
  const go = join(makeDirectory(t), 'go')
  const body = `const { existsSync } = process.getBuiltinModule('fs')
while (!existsSync('${go}'));
return "done"`
  world.worker(['--handler', handlerFile(t, body), '--isolation', isolation])
  const taskId = await world.submit()
  await extended
  writeFileSync(go, '')
  return world.end(taskId)
}

t.test('a command that floods its standard error keeps its lease, too', async (t) => {
  const { observer, extended } = heartbeats()
  const world = await World.start(t, { observer })
  const go = join(makeDirectory(t), 'go')
  const wait = `while [ ! -e ${go} ]; do sleep 0.05; done`
  const worker = world.worker(['--exec', `yes >&2 & ${wait}; echo done`])
  const taskId = await world.submit()
  await extended
  t.match(await worker.line('lines of the log are left out'), { level: 'warn', taskId: 1 })
  writeFileSync(go, '')
  t.match(await world.end(taskId), { state: 'COMPLETED', attempt: 1, result: 'done\n' })
})

t.test('inline it loses its lease, since it blocks the heartbeats, too', async (t) => {
  const world = await World.start(t, { knobs: { leaseDurationMs: 300, heartbeatIntervalMs: 50 } })
  const args = ['--isolation', 'inline', '--concurrency', '1']
  const spinning = 'const end = Date.now() + 1000\nwhile (Date.now() < end);'
  const body = `if (task.attempt > 1) return "done"\n${spinning}\nreturn "done"`
  const worker = world.worker(['--handler', handlerFile(t, body), ...args])
  const task = await world.run()
  t.match(task, { state: 'COMPLETED', attempts: [{ outcome: 'EXPIRED' }] })
  t.match(await worker.line('lease lost', { attempt: 1 }), { reason: 'DEADLINE' })
})

/** `extended` settles when the coordinator has granted four heartbeats. */
function heartbeats() {
  let granted = 0
  let settle = () => {}
  const extended = new Promise<void>((resolve) => {
    settle = resolve
  })
  const answered: CoordinatorObserver['answered'] = (_, answer) => {
    if (answer.kind === 'extended' && ++granted === 4) settle()
  }
  return { observer: { answered }, extended }
}
