import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'
import { binary, handlerFile, makeDirectory, World } from './world.js'

// How a worker stops, and what happens to its commands.

/** The shell and its children ignore SIGTERM. Logs the number of its group when it runs. */
const stubborn = `trap "" TERM; sleep 600 & sleep 600 & echo "group $$" >&2; wait; wait; sleep 600`

/** A child of the shell that logs when it runs, and ends within the grace on SIGTERM. */
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

/** Runs its arguments on a terminal, and closes the terminal once the command is ready. */
const onTerminal = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
said = b''
while b'"msg":"ready"' not in said: said += os.read(terminal, 4096)
os.close(terminal)
os.waitpid(pid, 0)
`

t.test('killing a task kills the whole group of its command without a grace', async (t) => {
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
})

t.test('a child of the shell has the abort grace, too', async (t) => {
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

t.test(
  'SIGTERM: the worker leases no more, reports its running tasks and exits with 0',
  async (t) => {
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
  },
)

t.test('after the drain grace the task is abandoned and runs elsewhere', async (t) => {
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
  t.test(`a second ${signal} ends the worker and its commands immediately`, async (t) => {
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
  'closing the terminal stops the worker gracefully, although its output is unread',
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
    // The exit code is not checked: Node may fail to reset the closed terminal.
    await once(terminal, 'exit')
    t.equal(readFileSync(path, 'utf8'), 'cleared up')
  },
)

t.test('a second signal ends the worker while a handler runs native code', async (t) => {
  const world = await World.start(t)
  // The loop ends with the test, which removes the directory.
  const wait = `while [ -e ${makeDirectory(t)} ]; do sleep 0.05; done`
  const body = `task.log.info('ready')\nprocess.getBuiltinModule('child_process').execSync('${wait}')`
  const worker = world.worker(['--handler', handlerFile(t, body)])
  await world.submit()
  await worker.line('ready')
  worker.kill('SIGTERM')
  await worker.line('stopping')
  worker.kill('SIGTERM')
  // Ended by the signal, without an exit code.
  t.match(await worker.exited, { code: null })
})

t.test('a handler that does not end is terminated with the worker', async (t) => {
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

/** Resolves when the group is empty: killed processes may take a moment to disappear. */
async function gone(group: number): Promise<void> {
  while (membersOf(group).length > 0) await setImmediate()
}

/** The running processes of the group. Zombies do not count. */
function membersOf(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      const [, state = 'X', , ownGroup] = /\) (\S) (\d+) (\d+) /.exec(readStat(name)) ?? []
      return Number(ownGroup) === group && !'ZX'.includes(state)
    })
    .map(Number)
}

/** Empty if the process has ended in the meantime. */
function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
