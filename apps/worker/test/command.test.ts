import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome, RunEvents } from '@tenure/worker-runtime'
import t, { type Test } from 'tap'
import { CommandIsolation } from '../src/exec/isolation.js'
import { Lines } from '../src/exec/log.js'
import { CommandRun, Tail } from '../src/exec/run.js'
import { makeDirectory, World } from './world.js'

const { kill } = process
const work = {
  taskId: 1,
  queue: 'default',
  attempt: 1,
  leaseId: 2,
  deadline: 0,
  payload: Buffer.from('work'),
}

t.test('a command that the system cannot start fails after run() has returned', async (t) => {
  // Longer than the system's limit for a single argument.
  const isolation = new CommandIsolation(`true ${'x'.repeat(200_000)}`)
  let hasReturned = false
  const outcome = await new Promise<Outcome>((resolve) => {
    const ended = (outcome: Outcome) => {
      t.ok(hasReturned)
      resolve(outcome)
    }
    isolation.run(work, { ended, logged: () => {} }).abort(undefined as never)
    hasReturned = true
  })
  t.match(outcome, { kind: 'crashed', reason: /^not started: .*E2BIG/ })
  await isolation.close()
})

t.test('an empty process group gets no more signals', async (t) => {
  const signals: (string | number | undefined)[] = []
  t.intercept(process, 'kill', {
    value: (pid: number, signal?: string | number) => {
      signals.push(signal)
      return kill.call(process, pid, signal)
    },
  })
  await outcomeOf('true', () => {})
  t.same(signals.splice(0), ['SIGKILL'], 'once, for processes that it may have left behind')
  const command = 'trap "exit 0" TERM; echo ready >&2; while :; do sleep 0.01; done'
  await outcomeOf(command, (run) => run.abort())
  t.same(signals.splice(0), ['SIGTERM', 0])
})

/** Runs the command; calls `act` at its first line only, since the shell may write more. */
function outcomeOf(command: string, act: (run: CommandRun) => void): Promise<Outcome> {
  return new Promise((ended) => {
    let lines = 0
    const logged = () => {
      if (lines++ === 0) act(run)
    }
    const run = new CommandRun(command, work, { ended, logged })
  })
}

t.test(
  'each turn of the loop logs a limited number of lines, and dropped lines are counted',
  async (t) => {
    let inTurn = 0
    let mostInTurn = 0
    let told = 0
    const logged: RunEvents['logged'] = (_level, _message, fields) => {
      if (inTurn === 0) {
        setImmediate(() => {
          inTurn = 0
        })
      }
      mostInTurn = Math.max(mostInTurn, ++inTurn)
      told += Number(fields?.dropped ?? 1)
    }
    const command = `python3 -c 'import sys; sys.stderr.write("x\\n" * 30000); sys.exit("the end")'`
    const isolation = new CommandIsolation(command)
    const outcome = await new Promise<Outcome>((ended) => isolation.run(work, { ended, logged }))
    t.ok(mostInTurn <= 257, `${mostInTurn} lines in a turn`)
    t.equal(told, 30_001)
    t.match(outcome, { kind: 'failed', reason: /the end$/ })
  },
)

t.test('lines are whole wherever the stream is cut; an overlong line is split', async (t) => {
  const bytes = Buffer.from('grün\nblau\n\nlanger als neun\nlänger als neun')
  for (let at = 0; at <= bytes.length; at++) {
    const told: string[] = []
    const lines = new Lines(9, (line) => told.push(line))
    lines.push(bytes.subarray(0, at))
    lines.push(bytes.subarray(at))
    lines.end()
    t.same(told.slice(0, 3), ['grün', 'blau', ''])
    t.same(told.slice(3), ['langer al', 's neun', 'länger al', 's neun'])
  }
})

t.test('a cut tail begins with a whole character', async (t) => {
  const tailOf = (...pieces: string[]) => {
    const tail = new Tail(6)
    for (const piece of pieces) tail.push(Buffer.from(piece))
    return tail.toString()
  }
  t.equal(tailOf(), '')
  t.equal(tailOf('abc', 'def'), 'abcdef')
  t.equal(tailOf('abcd', 'efg'), '…bcdefg')
  t.equal(tailOf('xäääy'), '…ääy')
  t.equal(tailOf('x'.repeat(100), 'the end\n'), '…e end')
})

// The input of a command, and the use of its output.

async function run(t: Test, command: string, payload?: string, env = {}) {
  const world = await World.start(t)
  const worker = world.worker(['--exec', command], env)
  return { task: await world.run(payload), worker, world }
}

t.test('a Python script receives the payload and returns the result', async (t) => {
  const script = 'import sys; sys.stdout.write(sys.stdin.read().upper())'
  const { task, worker } = await run(t, `python3 -c '${script}'`, 'grüße')
  t.match(task, { state: 'COMPLETED', attempt: 1, result: 'GRÜSSE' })
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test('a shell script sees the facts of its task and no secrets of the worker', async (t) => {
  const path = join(makeDirectory(t), 'facts.sh')
  writeFileSync(path, 'env | grep ^TENURE_ | sort\necho "at work" >&2\n')
  const tokens = [{ token: 'hush-hush', roles: ['produce', 'work', 'admin'] as const }]
  const world = await World.start(t, { tokens })
  const worker = world.worker(['--exec', `sh ${path}`], { TENURE_TOKEN: 'hush-hush' })
  const task = await world.run()
  const [{ leaseId, grantedAt } = { leaseId: 0, grantedAt: 0 }] = task.attempts
  const facts = Object.fromEntries(
    task.result
      ?.trim()
      .split('\n')
      .map((line) => line.split('=')) ?? [],
  )
  const { TENURE_TASK_DEADLINE: deadline, ...others } = facts
  t.same(others, {
    TENURE_TASK_ATTEMPT: '1',
    TENURE_TASK_ID: '1',
    TENURE_TASK_LEASE_ID: String(leaseId),
    TENURE_TASK_QUEUE: 'default',
  })
  t.ok(Number(deadline) > grantedAt + 3_000_000, 'milliseconds since the epoch')
  t.match(await worker.line('at work'), { level: 'info', taskId: 1, leaseId })
})

t.test(
  'an exit code other than 0 is a failure with the end of standard error as its reason',
  async (t) => {
    const command = `python3 -c 'import sys; sys.stderr.write("ä" * 3000 + "the end\\n"); sys.exit(3)'`
    const { task } = await run(t, command)
    t.match(task, { state: 'FAILED', reason: /^exit code 3: …ä+the end$/ })
    t.ok(Buffer.byteLength(task.reason ?? '') < 2100)
  },
)

t.test('a command killed by a signal fails with the name of the signal', async (t) => {
  const { task } = await run(t, 'kill -SEGV $$')
  t.match(task, { state: 'FAILED', reason: 'ended by SIGSEGV' })
})

t.test('a command without standard output has no result', async (t) => {
  const { task } = await run(t, 'true')
  t.match(task, { state: 'COMPLETED', result: undefined })
})

t.test('too much standard output is a failure', async (t) => {
  const { task } = await run(t, 'head -c 70000 /dev/zero')
  t.match(task, {
    state: 'FAILED',
    reason: 'the result has 70000 bytes; at most 65536 are accepted',
  })
  const more = await run(t, 'head -c 20000000 /dev/zero')
  t.match(more.task, {
    state: 'FAILED',
    reason: 'the standard output has 20000000 bytes; at most 16777216 are accepted',
  })
})

t.test('a command need not read its input', async (t) => {
  const { task } = await run(t, 'exec <&-; echo done', 'x'.repeat(200_000))
  t.match(task, { state: 'COMPLETED', result: 'done\n' })
})

t.test('processes that a command leaves behind are killed', async (t) => {
  const { task } = await run(t, 'sleep 600 & echo $!')
  t.match(task, { state: 'COMPLETED', result: /^\d+\n$/ })
  t.notOk(isAlive(Number(task.result)))
})

t.test('a process in another group does not delay the end of the task', async (t) => {
  const path = join(makeDirectory(t), 'leave.py')
  const lines = [
    'import subprocess',
    // The child is in its own group when this returns, and holds the standard output.
    'print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)',
  ]
  writeFileSync(path, lines.join('\n'))
  const { task } = await run(t, `python3 ${path}`)
  const pid = Number(task.result)
  t.teardown(() => process.kill(pid, 'SIGKILL'))
  t.equal(task.state, 'COMPLETED')
  t.ok(isAlive(pid), 'and continues')
})

t.test('a missing command ends the worker with exit code 2 before it leases', async (t) => {
  const world = await World.start(t)
  const worker = world.worker(['--exec', 'no-such-program --flag'])
  const taskId = await world.submit()
  const { code, stderr } = await worker.exited
  t.equal(code, 2)
  t.equal(
    stderr,
    'tenure-worker: cannot find the program "no-such-program"; use its full path, or add its directory to PATH\n',
  )
  t.match(await world.tenure.get(taskId), { state: 'WAITING', attempt: 0 })
})

t.test('a missing command that only the shell can detect is a failure', async (t) => {
  const { task } = await run(t, 'X=1 no-such-program')
  t.match(task, { state: 'FAILED', reason: /^exit code 127: .*no-such-program.*not found/ })
})

/** False for zombies: an ended process may not have been reaped yet. */
function isAlive(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return existsSync(path) && !/\) [ZX] /.test(readFileSync(path, 'utf8'))
}
