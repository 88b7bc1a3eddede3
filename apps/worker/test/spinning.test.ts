import t, { type Test } from 'tap'
import { handlerFile, World } from './world.js'

const leaseMs = 1500

t.test('a handler that spins for three lease lengths keeps its lease', async (t) => {
  const isolations = ['thread', 'process']
  const tasks = await Promise.all(isolations.map((isolation) => spin(t, isolation)))
  for (const task of tasks) {
    t.match(task, { state: 'COMPLETED', attempt: 1, result: '"done"' })
    t.ok(task.stateSince - task.attempts[0]!.grantedAt > 3 * leaseMs)
  }
})

async function spin(t: Test, isolation: string) {
  const world = await World.start(t, { knobs: { leaseDurationMs: leaseMs } })
  world.worker(['--handler', handlerFile(t, spinFor(3.1 * leaseMs)), '--isolation', isolation])
  return world.run()
}

t.test('a command that floods its standard error keeps its lease, too', async (t) => {
  const world = await World.start(t, { knobs: { leaseDurationMs: leaseMs } })
  const worker = world.worker(['--exec', `yes >&2 & sleep ${(1.6 * leaseMs) / 1000}; echo done`])
  const task = await world.run()
  t.match(task, { state: 'COMPLETED', attempt: 1, result: 'done\n' })
  t.ok(task.stateSince - task.attempts[0]!.grantedAt > 1.5 * leaseMs)
  t.match(await worker.line('lines of the log are left out'), { level: 'warn', taskId: 1 })
})

t.test('inline it loses its lease, since it blocks the heartbeats, too', async (t) => {
  const world = await World.start(t, { knobs: { leaseDurationMs: 300, heartbeatIntervalMs: 50 } })
  const args = ['--isolation', 'inline', '--concurrency', '1']
  const body = `if (task.attempt > 1) return "done"\n${spinFor(1000)}`
  const worker = world.worker(['--handler', handlerFile(t, body), ...args])
  const task = await world.run()
  t.match(task, { state: 'COMPLETED', attempts: [{ outcome: 'EXPIRED' }] })
  t.match(await worker.line('lease lost', { attempt: 1 }), { reason: 'DEADLINE' })
})

function spinFor(ms: number): string {
  return `const end = Date.now() + ${ms}\nwhile (Date.now() < end);\nreturn "done"`
}
