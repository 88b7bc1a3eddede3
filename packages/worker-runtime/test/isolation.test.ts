import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { WorkerError } from '../src/errors.js'
import type { IsolationKind, Outcome, Run, WorkerOptions } from '../src/index.js'
import { linesPendingMax } from '../src/isolation/log-throttle.js'
import { resolveOptions } from '../src/options.js'

const obedient = new URL('./fixtures/obedient.js', import.meta.url)

/** A running handler in a thread, in a process or inline. */
class Play {
  readonly ended: Promise<Outcome>
  readonly lines: unknown[][] = []
  readonly #run: Run
  #onLine: () => void = () => {}

  constructor(start: (play: Play, end: (outcome: Outcome) => void) => Run) {
    let end: (outcome: Outcome) => void = () => {}
    this.ended = new Promise((resolve) => {
      end = resolve
    })
    this.#run = start(this, end)
  }

  add(...line: unknown[]): void {
    this.lines.push(line)
    this.#onLine()
  }

  /** Resolves when the handler has logged a line, so that it is surely running. */
  async speaks(): Promise<void> {
    while (this.lines.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onLine = resolve
      })
    }
  }

  abort(code: WorkerError['code'] = 'WORKER_LEASE_LOST'): void {
    this.#run.abort(new WorkerError(code, `because ${code}`))
  }

  terminate(): boolean {
    return this.#run.terminate()
  }

  async result(): Promise<unknown> {
    const outcome = await this.ended
    if (outcome.kind !== 'returned') throw new Error(`it did not return: ${outcome.kind}`)
    return JSON.parse(Buffer.from(outcome.result ?? []).toString())
  }
}

/** An isolation without a worker. */
class Stage {
  readonly crashes: string[] = []
  readonly #isolation
  #leases = 0
  #onCrash: () => void = () => {}

  constructor(isolation: IsolationKind, options: Partial<WorkerOptions> = {}) {
    const given = { endpoints: ['none'], handler: obedient, isolation, ...options }
    this.#isolation = resolveOptions(given).makeIsolation({
      hostCrashed: (reason) => {
        this.crashes.push(reason)
        this.#onCrash()
      },
    })
  }

  static async open(isolation: IsolationKind): Promise<Stage> {
    const stage = new Stage(isolation)
    await stage.start()
    return stage
  }

  start(): Promise<void> {
    return this.#isolation.start()
  }

  play(word: string): Play {
    const leaseId = ++this.#leases
    const facts = { taskId: 7, leaseId, attempt: 2, queue: 'mail', deadline: 1234 }
    return new Play((play, end) =>
      this.#isolation.run(
        { ...facts, payload: new Uint8Array(Buffer.from(word)) },
        { ended: end, logged: (...line) => play.add(...line) },
      ),
    )
  }

  async crash(): Promise<string> {
    while (this.crashes.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onCrash = resolve
      })
    }
    return this.crashes[0]!
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#isolation.close()
  }
}

// ---- all isolations

for (const isolation of ['thread', 'process', 'inline'] as const) {
  t.test(
    `${isolation}: a handler is told the facts, and its payload is its own memory`,
    async (t) => {
      await using stage = await Stage.open(isolation)
      t.strictSame(await stage.play('tell the facts').result(), {
        taskId: 7,
        leaseId: 1,
        attempt: 2,
        queue: 'mail',
        deadline: 1234,
        payload: 'tell the facts',
        memory: 14,
        isAborted: false,
      })
    },
  )

  t.test(`${isolation}: every end of a handler is an outcome`, async (t) => {
    await using stage = await Stage.open(isolation)
    const bytes = await stage.play('return bytes').ended
    t.match(bytes, { kind: 'returned', result: Buffer.from('bytes') })
    const { result } = bytes as { result: Uint8Array }
    // A view would send its whole buffer to a thread; a process copies only the view.
    if (isolation !== 'process') t.equal(result.buffer.byteLength, 5)
    const view = await stage.play('return a view').ended
    t.match(view, { kind: 'returned', result: Buffer.from([2, 1]) })
    const nothing = { kind: 'returned', result: undefined }
    t.strictSame(await stage.play('return nothing').ended, nothing)
    t.strictSame(await stage.play('return JSON').result(), { list: [1, 'two', null] })
    for (const [word, reason] of [
      ['return a BigInt', /^TypeError: .*BigInt/],
      [
        'return a function',
        /^TypeError: a function cannot be a result; return bytes or a value that JSON can hold$/,
      ],
      ['throw an error', /^TypeError: it broke$/],
      ['throw a text', /^threw just a text$/],
      ['throw what has no text', /^threw a value that cannot be shown$/],
      ['throw what throws', /^Error: a value that cannot be shown$/],
    ] as const) {
      t.match(await stage.play(word).ended, { kind: 'failed', reason }, word)
    }
    t.match(await stage.play('throw an error').ended, { stack: /obedient/ })
  })

  t.test(`${isolation}: an abort arrives with its code`, async (t) => {
    await using stage = await Stage.open(isolation)
    for (const code of ['WORKER_LEASE_LOST', 'WORKER_WINDOW_OVER', 'WORKER_STOPPING'] as const) {
      const play = stage.play('wait for the signal')
      await play.speaks()
      play.abort(code)
      play.abort('WORKER_LEASE_LOST')
      const is = `WorkerError: because ${code}`
      t.match(await play.result(), { code, is }, 'the first abort counts')
    }
  })

  t.test(
    `${isolation}: an abort that comes before the handler has begun is not lost`,
    async (t) => {
      await using stage = await Stage.open(isolation)
      const play = stage.play('tell the facts')
      play.abort()
      t.equal((await play.ended).kind, 'returned')
      const next = stage.play('tell the facts')
      t.match(await next.result(), { isAborted: false }, 'nor kept for the next task')
    },
  )

  t.test(`${isolation}: log lines arrive in order, before the end`, async (t) => {
    await using stage = await Stage.open(isolation)
    const play = stage.play('log')
    await play.ended
    t.strictSame(
      play.lines.map((line) => line.filter((part) => part !== undefined)),
      [
        ['debug', 'one'],
        ['info', 'two', { number: 2, list: ['a'] }],
        ['warn', 'three', {}],
        ['error', 'four', { error: 'x' }],
      ],
    )
  })

  t.test(`${isolation}: code left running by a handler cannot log for it`, async (t) => {
    await using stage = await Stage.open(isolation)
    const play = stage.play('log when it is over')
    await play.ended
    const next = stage.play('let the rest run')
    await next.ended
    t.strictSame([...play.lines, ...next.lines], [])
  })
}

const badModules = [
  ['is missing', new URL('./fixtures/missing.js', import.meta.url), /missing\.js cannot be loaded/],
  ['has a syntax error', new URL('data:text/javascript,export default {'), /SyntaxError/],
  ['has no default export', new URL('data:text/javascript,export const a = 1'), /default export/],
  ['exports no function', new URL('data:text/javascript,export default 1'), /default export/],
  ['throws', new URL('data:text/javascript,throw new Error("mine")'), /Error: mine/],
] as const

for (const isolation of ['inline', 'thread', 'process'] as const) {
  // Loading errors reach the runtime in the same way in every isolation.
  const modules = isolation === 'inline' ? badModules : badModules.slice(0, 2)
  for (const [what, handler, message] of modules) {
    t.test(`${isolation}: start rejects a module that ${what}`, async (t) => {
      await using stage = new Stage(isolation, { handler })
      await t.rejects(stage.start(), { code: 'WORKER_BAD_HANDLER', message })
    })
  }
}

t.test('inline: the handler may be a function', async (t) => {
  await using stage = new Stage('inline', { handler: ({ attempt }) => attempt })
  await stage.start()
  t.equal(await stage.play('anything').result(), 2)
})

t.test('inline: terminate returns false', async (t) => {
  await using stage = await Stage.open('inline')
  const play = stage.play('wait for the signal')
  t.equal(play.terminate(), false)
  play.abort()
  t.equal((await play.ended).kind, 'returned')
})

// ---- threads and processes

for (const isolation of ['thread', 'process'] as const) {
  t.test(`${isolation}: a handler that ends its host has crashed, with a reason`, async (t) => {
    await using stage = await Stage.open(isolation)
    t.match(await stage.play('exit').ended, { kind: 'crashed', reason: /code 3/ })
    // A process writes its error to standard error; a thread passes it on.
    const reason = isolation === 'thread' ? /Error: uncaught on purpose/ : /code 1/
    t.match(await stage.play('break in a callback').ended, { kind: 'crashed', reason })
    t.match(await stage.play('drop a rejection').ended, { kind: 'crashed', reason })
    t.strictSame(stage.crashes, [], 'the tasks have reported it')
    t.match(await stage.play('return JSON').result(), { list: [] }, 'the next task gets a new host')
  })

  t.test(`${isolation}: a handler that spins is terminated`, async (t) => {
    await using stage = await Stage.open(isolation)
    const play = stage.play('spin')
    await play.speaks()
    play.abort()
    t.equal(play.terminate(), true)
    t.strictSame(await play.ended, { kind: 'terminated' })
    t.match(await stage.play('return JSON').result(), { list: [] })
    t.strictSame(stage.crashes, [])
  })

  t.test(`${isolation}: terminating an ended task does not affect the next one`, async (t) => {
    await using stage = await Stage.open(isolation)
    const first = stage.play('return JSON')
    await first.ended
    const second = stage.play('wait for the signal')
    await second.speaks()
    first.terminate()
    first.abort()
    second.abort('WORKER_STOPPING')
    t.match(await second.result(), { code: 'WORKER_STOPPING' })
  })

  t.test(`${isolation}: log fields that cannot be sent do not fail the handler`, async (t) => {
    await using stage = await Stage.open(isolation)
    const play = stage.play('log oddities')
    t.equal((await play.ended).kind, 'returned')
    t.match(play.lines, [
      ['info', 'a function', { kept: true }],
      ['info', 'a loop', { unloggable: /circular/ }],
      ['info', 'a BigInt', { unloggable: /BigInt/ }],
      ['info', 'Symbol(no text)'],
    ])
  })

  t.test(
    `${isolation}: hosts are reused, and there are never more hosts than concurrent tasks`,
    async (t) => {
      await using stage = await Stage.open(isolation)
      const one = await stage.play('say who you are').result()
      t.strictSame(await stage.play('say who you are').result(), one)
      const waiting = stage.play('wait for the signal')
      const other = await stage.play('say who you are').result()
      t.notSame(other, one)
      t.strictSame(await stage.play('say who you are').result(), other)
      waiting.abort()
      await waiting.ended
      const both = [stage.play('say who you are'), stage.play('say who you are')]
      const seen = await Promise.all(both.map((play) => play.result()))
      t.strictSame(seen.map(String).sort(), [one, other].map(String).sort())
      t.not(String(one), String([process.pid, 0]), 'and none is the worker process')
    },
  )

  t.test(`${isolation}: a host that ends while idle is reported and replaced`, async (t) => {
    await using stage = await Stage.open(isolation)
    await stage.play('exit when idle').ended
    t.match(await stage.crash(), /code 4/)
    t.equal(stage.crashes.length, 1)
    t.match(await stage.play('return JSON').result(), { list: [] })
  })

  t.test(`${isolation}: close ends running and idle hosts`, async (t) => {
    const stage = await Stage.open(isolation)
    const plays = [stage.play('spin'), stage.play('wait')]
    await Promise.all(plays.map((play) => play.speaks()))
    await stage[Symbol.asyncDispose]()
    for (const play of plays) t.strictSame(await play.ended, { kind: 'terminated' })
    t.strictSame(stage.crashes, [])
  })

  t.test(`${isolation}: execArgv is passed to Node`, async (t) => {
    const handler = new URL('data:text/javascript,export default () => process.execArgv')
    await using stage = new Stage(isolation, { handler, execArgv: ['--no-deprecation'] })
    await stage.start()
    t.strictSame(await stage.play('').result(), ['--no-deprecation'])
  })
}

t.test('process: SIGINT and SIGTERM do not end a handler', async (t) => {
  await using stage = await Stage.open('process')
  const who = await stage.play('say who you are').result()
  t.equal(await stage.play('signal yourself').result(), 'still here')
  t.strictSame(await stage.play('say who you are').result(), who)
  t.strictSame(stage.crashes, [])
})

for (const isolation of ['thread', 'process'] as const) {
  t.test(
    `${isolation}: messages that a handler sends elsewhere are not taken for its outcome`,
    async (t) => {
      await using stage = await Stage.open(isolation)
      const other = stage.play('wait')
      await other.speaks()
      t.equal(await stage.play('send a message to another receiver').result(), 'done')
      t.equal(await stage.play('send a message to another receiver').result(), 'done')
      t.strictSame(stage.crashes, [])
      other.terminate()
      t.strictSame(await other.ended, { kind: 'terminated' })
    },
  )

  t.test(
    `${isolation}: in a flood of log lines some are logged and the rest counted`,
    async (t) => {
      await using stage = await Stage.open(isolation)
      const play = stage.play('flood the log')
      t.equal(await play.result(), 'done')
      const dropped = play.lines.flatMap(([, , fields]) => Object(fields).dropped ?? [])
      const taken = play.lines.length - dropped.length
      t.ok(taken <= 3 * 2 * linesPendingMax, `${taken} lines were taken`)
      t.equal(taken + dropped.reduce((sum, count) => sum + count, 0), 30_000)
    },
  )
}

t.test('process: a handler that closes the channel is killed and has crashed', async (t) => {
  await using stage = await Stage.open('process')
  t.match(await stage.play('cut the channel').ended, { kind: 'crashed' })
})

t.test('thread: a handler in a system call ends when the call returns', async (t) => {
  await using stage = await Stage.open('thread')
  const play = stage.play('be in the system')
  await play.speaks()
  t.equal(play.terminate(), true)
  // It waits for as long as this directory exists.
  rmdirSync(String(play.lines[0]?.[1]))
  t.strictSame(await play.ended, { kind: 'terminated' })
})

for (const word of ['wait', 'spin']) {
  t.test(
    `process: a handler that would ${word} forever ends when the worker is gone`,
    async (t) => {
      const program = fileURLToPath(new URL('./fixtures/parent.js', import.meta.url))
      const stdio = ['ignore', 'pipe', 'inherit'] as const
      const parent = spawn(process.execPath, [program, word], { stdio: [...stdio] })
      // Both processes write to it, so it closes when both are gone.
      const closed = once(parent.stdout, 'close')
      await once(parent.stdout, 'data')
      parent.stdout.resume()
      parent.kill('SIGKILL')
      await closed
      t.equal(parent.signalCode, 'SIGKILL')
    },
  )
}
