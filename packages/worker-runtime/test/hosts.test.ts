import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { cleanEnvironment } from '@tenure/testing'
import t, { type Test } from 'tap'
import type { Outcome } from '../src/index.js'
import { seal, type ToHost, unseal } from '../src/isolation/host-messages.js'
import { HostPool } from '../src/isolation/host-pool.js'
import { linesPendingMax } from '../src/isolation/log-throttle.js'
import type { Host, HostEvents } from '../src/isolation/pooled-host.js'

// ---- the pool

/** A host whose messages the test controls. */
class FakeHost implements Host {
  readonly told: ToHost[] = []
  readonly events: HostEvents
  kills = 0

  constructor(events: HostEvents) {
    this.events = events
  }

  post(message: ToHost): void {
    this.told.push(message)
  }

  kill(): void {
    this.kills++
  }

  /** Makes its handler return. */
  returns(): void {
    const last = this.told.findLast((message) => message.kind === 'run')
    const leaseId = last?.kind === 'run' ? last.work.leaseId : 0
    const outcome = { kind: 'returned', result: undefined } as const
    this.events.received({ kind: 'ended', leaseId, outcome })
  }
}

class FakePool {
  readonly hosts: FakeHost[] = []
  readonly crashes: string[] = []
  readonly pool: HostPool
  #leases = 0

  constructor() {
    const start = (events: HostEvents) => {
      const host = new FakeHost(events)
      this.hosts.push(host)
      return host
    }
    this.pool = new HostPool(start, (reason) => this.crashes.push(reason))
  }

  /** A pool whose first host is loaded. */
  static async create(): Promise<FakePool> {
    const fake = new FakePool()
    const starting = fake.pool.start()
    fake.host(1).events.received({ kind: 'ready' })
    await starting
    return fake
  }

  host(number: number): FakeHost {
    const host = this.hosts[number - 1]
    if (host === undefined) throw new Error(`there is no host ${number}`)
    return host
  }

  play() {
    const outcomes: Outcome[] = []
    const leaseId = ++this.#leases
    const facts = { taskId: 1, leaseId, attempt: 1, queue: 'q', deadline: 0 }
    const work = { ...facts, payload: Buffer.of() }
    const ended = (outcome: Outcome) => outcomes.push(outcome)
    return { outcomes, run: this.pool.run(work, { ended, logged: () => undefined }) }
  }
}

t.test('the host started first runs the first task', async (t) => {
  const fake = await FakePool.create()
  fake.play()
  t.equal(fake.hosts.length, 1)
  t.match(fake.host(1).told, [{ kind: 'run', work: { leaseId: 1 } }])
})

t.test('the most recently used host is reused first', async (t) => {
  const fake = await FakePool.create()
  fake.play()
  fake.play()
  fake.host(1).returns()
  fake.host(2).returns()
  fake.play()
  t.equal(fake.host(2).told.length, 2)
  t.equal(fake.host(1).told.length, 1)
})

t.test('a message about another lease is ignored', async (t) => {
  const fake = await FakePool.create()
  const { outcomes } = fake.play()
  const outcome: Outcome = { kind: 'returned', result: undefined }
  fake.host(1).events.received({ kind: 'ended', leaseId: 99, outcome })
  t.strictSame(outcomes, [])
  fake.host(1).returns()
  t.strictSame(outcomes, [outcome])
  fake.host(1).returns()
  fake.play()
  fake.play()
  t.equal(fake.hosts.length, 2, 'a free host is listed once')
})

t.test('log lines are acknowledged in quarters of the limit', async (t) => {
  const fake = await FakePool.create()
  fake.play()
  const line = { kind: 'logged', leaseId: 1, level: 'info', message: 'again' } as const
  for (let lines = 0; lines < linesPendingMax / 2; lines++) fake.host(1).events.received(line)
  const heard = { kind: 'acknowledged', lines: linesPendingMax / 4 }
  t.match(fake.host(1).told, [{ kind: 'run' }, heard, heard])
  t.equal(fake.host(1).told.length, 3)
})

t.test('only messages in an envelope of the runtime are accepted', async (t) => {
  for (const foreign of [
    null,
    1,
    'ready',
    {},
    { to: 'pm2', message: 'ready' },
    { kind: 'ended' },
  ]) {
    t.equal(unseal(foreign), undefined)
  }
  t.equal(unseal(seal('ours')), 'ours')
})

t.test('a handler that ends while it is terminated counts as terminated', async (t) => {
  const fake = await FakePool.create()
  const { run, outcomes } = fake.play()
  t.equal(run.terminate(), true)
  fake.host(1).returns()
  t.strictSame(outcomes, [], 'its host and its slot are not free yet')
  fake.play()
  t.equal(fake.hosts.length, 2)
  fake.host(1).events.gone('killed')
  t.strictSame(outcomes, [{ kind: 'terminated' }])
  t.strictSame(fake.crashes, [])
})

t.test('a host that ends during a task crashes the task', async (t) => {
  const fake = await FakePool.create()
  const { outcomes } = fake.play()
  fake.host(1).events.gone('it ended')
  t.match(outcomes, [{ kind: 'crashed', reason: /it ended/ }])
  t.strictSame(fake.crashes, [])
})

t.test('a later host that cannot load the handler crashes its task with the reason', async (t) => {
  const fake = await FakePool.create()
  fake.play()
  const { outcomes } = fake.play()
  fake.host(2).events.received({ kind: 'unusable', reason: 'it changed on the disk' })
  t.equal(fake.host(2).kills, 1)
  fake.host(2).events.gone('code 1')
  t.match(outcomes, [{ kind: 'crashed', reason: 'it changed on the disk' }])
})

t.test('close kills all hosts and waits until they are gone', async (t) => {
  const fake = await FakePool.create()
  const { outcomes } = fake.play()
  fake.play()
  fake.play()
  fake.host(2).returns()
  fake.host(3).events.gone('by itself')
  let isClosed = false
  const closing = fake.pool.close().then(() => {
    isClosed = true
  })
  t.strictSame(
    fake.hosts.map(({ kills }) => kills),
    [1, 1, 0],
  )
  fake.host(1).events.gone('killed')
  await Promise.resolve()
  t.equal(isClosed, false)
  fake.host(2).events.gone('killed')
  await closing
  t.strictSame(outcomes, [{ kind: 'terminated' }])
  t.strictSame(fake.crashes, [], 'a host that was closed has not crashed')
})

// ---- a process

const program = new URL('../src/isolation/process-main.js', import.meta.url)

function startHost(t: Test, fixture: string): ChildProcess {
  const handler = new URL(`./fixtures/${fixture}.js`, import.meta.url)
  // Without tap's loader, which would write its own output.
  const environment = { env: cleanEnvironment(process.env), execArgv: [] }
  const stdio = ['pipe', 'pipe', 'pipe', 'ipc'] as const
  const host = fork(program, [handler.href], { ...environment, stdio: [...stdio] })
  t.teardown(() => host.kill('SIGKILL'))
  return host
}

async function endsWithoutAWord(t: Test, host: ChildProcess): Promise<void> {
  const [complaint, [code]] = await Promise.all([text(host.stderr!), once(host, 'exit')])
  t.equal(complaint, '')
  t.equal(code, 0)
}

t.test('a process ends if its worker is gone before it listens', async (t) => {
  const host = startHost(t, 'never-idle')
  host.disconnect()
  await endsWithoutAWord(t, host)
})

t.test('a process ends silently if its worker ends while the handler is loaded', async (t) => {
  const host = startHost(t, 'slow-to-load')
  await once(host.stdout!, 'data')
  host.disconnect()
  host.stdin!.end()
  await endsWithoutAWord(t, host)
})
