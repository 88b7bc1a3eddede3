import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { RejectedError, TenureError } from '@tenure/client'
import { ServerConnection } from '@tenure/protocol'
import t, { type Test } from 'tap'
import { exitCodeOf, explain } from '../src/coordinator/errors.js'
import { program } from '../src/program.js'
import { type } from './terminal.js'
import { binary, run, World } from './world.js'

const time = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z/.source
const verbs = Object.keys(program.verbs)
const code = 0
const stderr = ''

t.test('submit prints the id of a task, which get shows', async (t) => {
  const world = await World.start(t)
  const { tenure } = bind(world)
  t.same(await world.run('submit', 'hello', '--queue', 'mail', '--request-id', 'r-1'), {
    code,
    stderr,
    stdout: 'task 1\n',
  })
  const again = await tenure('submit', 'hello', '--queue', 'mail', '--request-id', 'r-1')
  t.equal(again.stdout, 'task 1, already submitted\n')
  const shown = await tenure('get', '1')
  t.match(shown, { code, stderr })
  t.match(shown.stdout, new RegExp(`^task +1\nstate +WAITING since ${time}\nqueue +mail\n`))
  t.match(shown.stdout, /^payload {3}hello$/m)
  const { stdout } = await world.run('get', '1', '--json')
  t.match(JSON.parse(stdout), { taskId: 1, queue: 'mail', payload: 'aGVsbG8=', attempts: [] })
  t.match(JSON.parse((await tenure('submit', 'x', '--json')).stdout), { taskId: 2, known: false })
})

t.test('a payload may come from a file with arbitrary bytes', async (t) => {
  const { tenure } = bind(await World.start(t))
  const path = join(t.testdir(), 'bytes')
  writeFileSync(path, Buffer.from([0, 255, 27, 91]))
  t.equal((await tenure('submit', '--payload-file', path)).stdout, 'task 1\n')
  t.match((await tenure('get', '1')).stdout, /^payload +4 bytes of binary data$/m)
  t.match(JSON.parse((await tenure('get', '1', '--json')).stdout), { payload: 'AP8bWw==' })
  const missing = await tenure('submit', '--payload-file', '/nowhere')
  t.match(missing, {
    code: 2,
    stderr:
      /cannot read \/nowhere, set by --payload-file: ENOENT; use a file that this user can read\n$/,
  })
  const neither = await tenure('submit')
  t.match(neither, { code: 2, stderr: /^tenure submit: set <payload> or --payload-file\. .*\n$/ })
})

t.test('submit can wait for the end, and its exit code tells the outcome', async (t) => {
  const world = await World.start(t, { knobs: { retryPolicy: never } })
  const good = world.tenure('submit', 'hello', '--wait')
  await (await world.lease()).complete('two\nlines')
  t.match(await good, { code: 0, stdout: 'task 1\ntask 1 COMPLETED: two\\nlines\n', stderr })
  const bad = world.tenure('submit', 'hello', '--wait')
  await (await world.lease()).fail('no \u001b[2Jroom')
  t.match(await bad, { code: 1, stdout: /\ntask \d+ FAILED: no \\u001b\[2Jroom\n$/, stderr })
})

t.test('submit may wait longer than the maximum of a Node.js timer', async (t) => {
  const world = await World.start(t)
  const submitted = world.tenure('submit', 'hello', '--wait-timeout', '60d')
  await (await world.lease()).complete('done')
  t.match(await submitted, { code, stdout: 'task 1\ntask 1 COMPLETED: done\n', stderr })
})

const never = { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } as const

t.test('get shows attempts, the reason and the result', async (t) => {
  const world = await World.start(t)
  await world.tenure('submit', 'hello')
  await (await world.lease()).complete('done')
  const { stdout } = await world.tenure('get', '1')
  t.match(stdout, new RegExp(`^state +COMPLETED since ${time}$`, 'm'))
  t.match(stdout, /^result +done$/m)
  const [, heads, row] = stdout.split('\n\n')[1]?.match(/(.*)\n(.*)\n/) ?? []
  t.match(heads, /^attempt {2}lease {2}worker +granted +took +outcome$/)
  t.match(row, /^ {6}1 {6}2 {2}w\\u001b\[31m1 .*Z +0 ms {2}COMPLETED$/)
})

t.test('list shows the tasks, and how to continue', async (t) => {
  const world = await World.start(t)
  for (const queue of ['one', 'two', 'one']) await world.tenure('submit', 'x', '--queue', queue)
  await (await world.lease('two')).fail('first line\nsecond')
  const all = await world.tenure('list')
  t.match(all, { code, stderr })
  t.match(
    all.stdout,
    /^task {2}state {4}queue {2}attempt {2}since +worker {2}reason\n {3}1 {2}WAITING/,
  )
  t.match(all.stdout, /\n {3}2 {2}WAITING {2}two {10}1 .* first line\n/)
  const some = await world.tenure('list', '--queue', 'one', '--json', '--limit', '1')
  t.match(JSON.parse(some.stdout), { taskId: 1, queue: 'one' })
  const [next] = /--from (\d+)/.exec(some.stderr)?.slice(1) ?? []
  t.equal(
    some.stderr,
    `tenure: more tasks follow; use --from ${next}, a larger --limit, or --all\n`,
  )
  const rest = await world.tenure('list', '--queue', 'one', '--json', '--from', String(next))
  t.match(JSON.parse(rest.stdout), { queue: 'one', taskId: Number(next) })
  t.equal(rest.stderr, '')
  t.match(await world.tenure('list', '--state', 'DEAD'), {
    code,
    stdout: '',
    stderr: 'tenure: no tasks match\n',
  })
})

t.test('list stops after 100 tasks unless --all is set', async (t) => {
  const world = await World.start(t)
  const lines = join(t.testdir({ lines: 'x\n'.repeat(120) }), 'lines')
  await world.tenure('submit', '--lines', lines)
  const count = ({ stdout }: { readonly stdout: string }) => stdout.trim().split('\n').length
  const usual = await world.tenure('list', '--json')
  t.equal(count(usual), 100)
  t.match(usual.stderr, '--all')
  const all = await world.tenure('list', '--json', '--all')
  t.equal(count(all), 120)
  t.equal(all.stderr, '')
  t.match(await world.tenure('list', '--all', '--limit', '7'), {
    code: 2,
    stderr: 'tenure list: --limit and --all are mutually exclusive; remove one of them\n',
  })
})

t.test('an example for all tasks uses --all', async (t) => {
  for (const verb of ['kill', 'resubmit', 'list']) {
    const { stdout } = await type([verb, '--help'])
    const lines = stdout.split('\n')
    const saysAll = (at: number) => /\b[Aa]ll (?:failed|waiting) /.test(lines[at - 1] ?? '')
    const examples = lines.filter((line, at) => line.startsWith('  tenure list ') && saysAll(at))
    t.equal(examples.length, 1, verb)
    t.match(examples[0], ' --all ')
  }
})

t.test('explain shows a late report', async (t) => {
  const knobs = { leaseDurationMs: 20, heartbeatIntervalMs: 5 }
  const world = await World.start(t, { knobs })
  await world.tenure('submit', 'hello')
  const late = await world.lease()
  await world.clock.advance(20)
  const second = await world.lease()
  await world.clock.advance(7)
  t.match(await late.complete('late'), { kind: 'cancelled' })
  t.match(await second.complete('good'), { kind: 'committed' })
  const { stdout } = await world.tenure('explain', '1')
  t.match(
    stdout,
    /^Task 1 ran twice because lease 2 of worker w\\u001b\[31m1 expired 7 ms before its\sreport arrived/,
  )
  const story = JSON.parse((await world.tenure('explain', '1', '--json')).stdout)
  t.match(story, { taskId: 1, causes: [{ kind: 'REPORTED_LATE' }], events: [{ lsn: 1 }] })
})

t.test('explain shows why a task has not run', async (t) => {
  const { tenure } = bind(await World.start(t))
  await tenure('submit', 'hello', '--delay', '1h')
  const { stdout } = await tenure('explain', '1')
  t.match(stdout, /^Task 1 has not run: it must not run before .*Z, in \d+\.\d min\.\n/)
})

t.test('texts of other users cannot control the terminal', async (t) => {
  const { tenure } = bind(await World.start(t))
  await tenure('submit', '\u009b2J', '--queue', 'q\u001b[2J\u202e')
  const verbs = [
    ['list'],
    ['get', '1'],
    ['explain', '1'],
    ['list', '--json'],
    ['get', '1', '--json'],
  ]
  const shown = await Promise.all(verbs.map((args) => tenure(...args)))
  for (const { stdout } of shown) {
    t.match(stdout, 'q\\u001b[2J\\u202e')
    t.notMatch(stdout, /[^\P{Cc}\n]|\u202e/u)
  }
  t.match(JSON.parse(shown[3]!.stdout), { queue: 'q\u001b[2J\u202e' })
})

type Wrong = [args: string[], complaint: RegExp]

t.test('a wrong command line is one line and exit code 2', async (t) => {
  const wrong: [Wrong, ...Wrong[]] = [
    [
      [],
      new RegExp(
        `^tenure: a command is required: one of ${verbs.join(', ')}\\. See tenure --help\\.\n$`,
      ),
    ],
    [['gte', '1'], /^tenure: unknown command "gte"\. Did you mean get\? .*\n$/],
    [['get', 'x'], /^tenure get: <task-id> is "x"; it must be a task id \(17\), .*\n$/],
    [['get', '0'], /^tenure get: <task-id> is "0"; .*\n$/],
    [['get', '1.17'], /is "1\.17", but shards are not supported yet; it must be a task id \(17\)/],
    [['get', 'data#1.17'], /is "data#1\.17", but shards are not supported yet; it must be/],
    [
      ['wait', '17', '1.17'],
      /^tenure wait: <task-id> is "1\.17", but shards are not supported yet; /,
    ],
    [['kill', '017.x'], /^tenure kill: <task-id> is "017\.x"; it must be a whole number/],
    [
      ['list', '--from', '2.9'],
      /^tenure list: --from is "2\.9", but shards are not supported yet; /,
    ],
    [
      ['list', '--state', 'GONE'],
      /^tenure list: --state is "GONE"; it must be one of WAITING.*\n$/,
    ],
    [['submit', 'x', '--delay', '5'], /^tenure submit: --delay is "5"; .*\n$/],
  ]
  for (const [args, complaint] of wrong) {
    t.match(await type(args), { code: 2, stdout: '', stderr: complaint })
  }
  const [[args, complaint]] = wrong
  t.match(await run(t, args), { code: 2, stdout: '', stderr: complaint }, 'also as a process')
  const { tenure } = bind(await World.start(t))
  const long = await tenure('submit', 'x', '--queue', 'q'.repeat(65))
  t.match(long, { code: 2, stdout: '', stderr: /^tenure: queue is .*\n$/ })
})

t.test('a rejection by the coordinator is one line with the remedy, and exit code 1', async (t) => {
  const tokens = [{ token: 'hush-hush', roles: ['produce', 'work', 'admin'] as const }]
  const world = await World.start(t, { tokens })
  const refused = await world.tenure('list')
  t.match(refused, {
    code: 1,
    stdout: '',
    stderr: /^tenure: UNAUTHORIZED: .*TENURE_TOKEN or --token-file\.\n$/,
  })
  const env = { ...world.env, TENURE_TOKEN: 'hush-hush' }
  const unknown = await run(t, ['get', '9'], env)
  t.match(unknown, { code: 1, stdout: '', stderr: /^tenure: task 9: UNKNOWN_TASK: .*\n$/ })
  const args = ['list', '--coordinator', '127.0.0.1:1', '--connect-timeout', '50ms']
  const none = await type(args)
  t.match(none, { code: 1, stdout: '' })
  t.match(
    none.stderr,
    /^tenure: no connection within 50 ms.* Is a coordinator running there, and ready \(see \/readyz\)\? .*\n$/,
  )
})

/** Rejects every connection as a standby does. Returns its address. */
async function startStandby(t: Test, active: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    const farewell = ServerConnection.farewell('NOT_ACTIVE', `${active} is active`, active)
    socket.once('data', () => socket.end(farewell))
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `127.0.0.1:${(server.address() as { port: number }).port}`
}

t.test('a verb asks the active one of several coordinators', async (t) => {
  const { endpoint } = await World.start(t)
  const standby = await startStandby(t, endpoint)
  const args = ['submit', 'x', '--coordinator', `${standby},${endpoint}`]
  t.match(await type(args), { code: 0, stdout: 'task 1\n', stderr: '' })
  const env = { TENURE_COORDINATOR: `127.0.0.1:1,${standby},${endpoint}` }
  t.match(await type(['get', '1'], { env }), { code: 0, stdout: /^task +1$/m })
  const alone = await type(['list', '--coordinator', standby, '--connect-timeout', '50ms'])
  t.match(alone, { code: 1, stdout: '' })
  t.match(
    alone.stderr,
    `${endpoint} is active. Set --coordinator to the addresses of all coordinators, separated by commas.`,
  )
})

t.test('a closed pipe ends the command silently', async (t) => {
  const world = await World.start(t)
  for (let count = 0; count < 3; count++) await world.tenure('submit', 'x')
  const env = { ...process.env, ...world.env, NODE_OPTIONS: '' }
  const child = spawn(process.execPath, [binary, 'list'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (bytes) => {
    complaint += bytes
  })
  t.same(await once(child, 'close'), [0, null])
  t.equal(complaint, '')
})

t.test('it shows help and its version', async (t) => {
  const help = await run(t, ['--help'])
  t.match(help, { code, stderr })
  for (const verb of ['submit', 'get', 'list', 'explain']) {
    t.match(help.stdout, `\n  ${verb} `)
    const own = await type([verb, '--help'])
    t.match(own.stdout, 'Examples:\n')
    t.same(
      own.stdout.split('\n').filter((line) => line.length > 100),
      [],
    )
  }
  t.match(await run(t, ['--version']), { code, stdout: /^\d+\.\d+\.\d+\n$/ })
})

t.test('variables of a coordinator or a worker in the same shell are ignored', async (t) => {
  const env = { TENURE_DATA_DIR: 'data', TENURE_HANDLER: 'h.mjs', TENURE_LEASE_DURATION: '1m' }
  t.match(await type(['list', '--print-config'], { env }), { code, stderr })
})

function bind(world: World) {
  return { tenure: (...args: string[]) => world.tenure(...args) }
}

t.test('submit takes retry flags with the same names as the coordinator', async (t) => {
  const world = await World.start(t)
  const policyOf = async (...args: string[]) => {
    const { taskId } = JSON.parse((await world.tenure('submit', 'x', '--json', ...args)).stdout)
    return JSON.parse((await world.tenure('get', String(taskId), '--json')).stdout).retryPolicy
  }
  const usual = await policyOf()
  t.same(await policyOf('--max-retries', '0'), { ...usual, maxRetries: 0 })
  t.same(await policyOf('--backoff-delay', '2s'), {
    maxRetries: 3,
    backoff: { kind: 'fixed', delayMs: 2000 },
  })
  const doubling = ['--backoff', 'exponential', '--backoff-delay', '1s', '--max-retries', '7']
  t.same(await policyOf(...doubling, '--backoff-max', '1m'), {
    maxRetries: 7,
    backoff: { kind: 'exponential', initialMs: 1000, maxMs: 60_000 },
  })
  t.match(await policyOf(...doubling), { backoff: { maxMs: 3_600_000 } })
  t.match(await world.tenure('submit', 'x', '--backoff-max', '1m'), {
    code: 2,
    stderr: /--backoff-max requires --backoff exponential/,
  })
})

t.test('an unanswered submission is reported with the request id to repeat it with', async (t) => {
  const unknown = { outcomeUnknown: true, requestId: 'r-1' }
  const error = new TenureError('CLIENT_TIMEOUT', 'no answer within 30000 ms', unknown)
  t.equal(
    explain(error),
    'no answer within 30000 ms. The task may have been submitted; submit it again with ' +
      '--request-id r-1 to make sure without creating a second task.',
  )
  t.equal(exitCodeOf(error), 1)
})

t.test('a transient rejection tells when to retry', async (t) => {
  const rejection = { reason: 'OVERLOADED', message: 'Too much.', retryAfterMs: 500 } as const
  t.equal(explain(new RejectedError(rejection)), 'OVERLOADED: Too much. Try again in 500 ms.')
  const plain = { reason: 'BAD_REQUEST', message: 'No \u001b[2J\ngood' } as const
  t.equal(explain(new RejectedError(plain as never)), 'BAD_REQUEST: No \\u001b[2J\\ngood')
})
