import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'
import { binary, handlerFile, makeDirectory, World } from './world.js'

// How a worker stops, and what becomes of the commands that it runs.

/** Ignores SIGTERM, and so does what it has started; says where its group is, and that it runs. */
const stubborn = `trap "" TERM; sleep 600 & sleep 600 & echo "group $$" >&2; wait; wait; sleep 600`

/** Says that it runs, and ends within its grace when it is told to: as a child of the shell. */
const graceful = (path: string) =>
  `cd / && python3 -c '
import signal, sys, time
def end(*_):
    time.sleep(0.3)
    open("${path}", "w").write("cleared up")
    sys.exit(1)
signal.signal(signal.SIGTERM, end)
sys.stderr.write("ready\\n"); sys.stderr.flush()
time.sleep(600)
'; true`

/** Runs its arguments on a terminal, which it closes when it has read that the command is ready. */
const onTerminal = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
said = b''
while b'"msg":"ready"' not in said: said += os.read(terminal, 4096)
os.close(terminal)
os.waitpid(pid, 0)
`

t.test(
  'a command whose task is killed is killed with its whole group, without a grace',
  async (t) => {
    const world = await World.start(t)
    const worker = world.worker(['--exec', stubborn, '--abort-grace', '1h'])
    const taskId = await world.submit()
    const group = groupIn(await worker.line('group '))
    t.equal(membersOf(group).length, 3)
    await world.tenure.kill(taskId, 'not needed')
    t.match(await worker.line('lease lost'), { taskId, reason: 'TASK_TERMINAL' })
    t.match(await worker.line('handler terminated'), { taskId, outcome: 'terminated' })
    await gone(group)
    t.match(await worker.line('not reported'), { reason: 'LEASE_LOST' })
    t.match(await world.tenure.get(taskId), { state: 'DEAD', reason: 'not needed' })
  },
)

t.test('a command that runs below a shell has its grace, too', async (t) => {
  const world = await World.start(t)
  const path = join(makeDirectory(t), 'cleared')
  const graces = ['--drain-grace', '0', '--abort-grace', '5m']
  const worker = world.worker(['--exec', graceful(path), ...graces])
  const taskId = await world.submit()
  await worker.line('ready')
  t.match(await worker.stop(), { code: 0 })
  t.match(await worker.line('not reported', { taskId }), { reason: 'STOPPING' })
  t.equal(readFileSync(path, 'utf8'), 'cleared up')
})

t.test('a signal: no more tasks, those at hand end and are reported, exit code 0', async (t) => {
  const world = await World.start(t)
  const path = join(makeDirectory(t), 'go')
  const wait = `while [ ! -e ${path} ]; do sleep 0.05; done; echo done`
  const args = ['--concurrency', '1', '--drain-grace', '5m']
  const worker = world.worker(['--exec', `echo ready >&2; ${wait}`, ...args])
  const [atHand, next] = [await world.submit(), await world.submit()]
  await worker.line('ready')
  const { httpPort } = await worker.line('started')
  worker.kill('SIGTERM')
  await worker.line('stopping')
  const ready = await fetch(`http://127.0.0.1:${httpPort}/readyz`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { mode: 'draining' })
  world.worker(['--exec', `touch ${path}; echo other`, '--name', 'other'])
  t.match(await world.end(atHand), { state: 'COMPLETED', attempt: 1, result: 'done\n' })
  t.match(await worker.exited, { code: 0, stderr: '' })
  t.match(await world.end(next), { attempt: 1, attempts: [{ workerId: 'other' }] })
})

t.test('when the time to drain is over the task is left, and runs elsewhere', async (t) => {
  const world = await World.start(t, { knobs: { leaseDurationMs: 1500 } })
  const times = ['--drain-grace', '100ms', '--abort-grace', '100ms']
  const worker = world.worker(['--exec', stubborn, '--name', 'first', ...times])
  const taskId = await world.submit()
  const group = groupIn(await worker.line('group '))
  t.match(await worker.stop(), { code: 0, stderr: '' })
  await gone(group)
  t.match(await worker.line('not reported'), { taskId, reason: 'STOPPING' })
  world.worker(['--exec', 'echo done', '--name', 'second'])
  const { state, attempts } = await world.end(taskId)
  t.equal(state, 'COMPLETED')
  t.match(attempts[0], { workerId: 'first', outcome: 'EXPIRED' })
  t.match(attempts.at(-1), { workerId: 'second', outcome: 'COMPLETED' })
})

const codes = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const
for (const [signal, code] of Object.entries(codes) as [keyof typeof codes, number][]) {
  t.test(`a second ${signal} ends it at once, and its commands with it`, async (t) => {
    const world = await World.start(t)
    const worker = world.worker(['--exec', stubborn])
    await world.submit()
    const group = groupIn(await worker.line('group '))
    worker.kill('SIGTERM')
    await worker.line('stopping')
    worker.kill(signal)
    t.match(await worker.exited, { code })
    await gone(group)
  })
}

t.test(
  'when its terminal is closed it stops in order, though nobody reads its lines',
  async (t) => {
    const world = await World.start(t)
    const path = join(makeDirectory(t), 'cleared-up')
    const args = ['--exec', graceful(path), '--coordinator', world.endpoint]
    const times = ['--drain-grace', '0', '--abort-grace', '5m']
    const allArgs = [...args, ...times, '--http-port', 'off']
    const terminal = spawn('python3', ['-c', onTerminal, process.execPath, binary, ...allArgs], {
      env: cleanEnvironment(process.env),
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    t.teardown(() => terminal.kill('SIGKILL'))
    await world.submit()
    // How Node itself ends without the terminal that it wants to reset is not ours to say.
    await once(terminal, 'exit')
    t.equal(readFileSync(path, 'utf8'), 'cleared up')
  },
)

t.test('a second signal ends it though a handler is in the middle of native code', async (t) => {
  const world = await World.start(t)
  // It ends with the test, whose directory goes then.
  const wait = `while [ -e ${makeDirectory(t)} ]; do sleep 0.05; done`
  const body = `task.log.info('ready')\nprocess.getBuiltinModule('child_process').execSync('${wait}')`
  const worker = world.worker(['--handler', handlerFile(t, body)])
  await world.submit()
  await worker.line('ready')
  worker.kill('SIGTERM')
  await worker.line('stopping')
  worker.kill('SIGTERM')
  // By the signal, and not with a code.
  t.match(await worker.exited, { code: null })
})

t.test('a handler that does not end is ended with the worker', async (t) => {
  const world = await World.start(t)
  const body = 'task.log.info("ready")\nfor (;;);'
  const times = ['--drain-grace', '50ms', '--abort-grace', '50ms']
  const worker = world.worker(['--handler', handlerFile(t, body), ...times])
  await world.submit()
  await worker.line('ready')
  t.match(await worker.stop(), { code: 0 })
})

function groupIn({ msg }: { readonly msg: string }): number {
  return Number(msg.split(' ')[1])
}

/** Settles when nothing of the group is left: what was killed may take a moment to go. */
async function gone(group: number): Promise<void> {
  while (membersOf(group).length > 0) await setImmediate()
}

/** The processes of the group that still do something: one that has ended may wait to be noticed. */
function membersOf(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      const [, state = 'X', , ownGroup] = /\) (\S) (\d+) (\d+) /.exec(readStat(name)) ?? []
      return Number(ownGroup) === group && !'ZX'.includes(state)
    })
    .map(Number)
}

/** Empty when it has ended in the meantime. */
function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
