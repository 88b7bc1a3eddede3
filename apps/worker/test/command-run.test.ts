import type { Outcome, RunEvents } from '@tenure/worker-runtime'
import t from 'tap'
import { CommandIsolation } from '../src/command/isolation.js'
import { Lines } from '../src/command/log.js'
import { CommandRun, Tail } from '../src/command/run.js'

const { kill } = process
const work = {
  taskId: 1,
  queue: 'default',
  attempt: 1,
  leaseId: 2,
  deadline: 0,
  payload: Buffer.from('work'),
}

t.test('what the system does not start is a failure, told after run has returned', async (t) => {
  // Longer than a single argument may be.
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

t.test('a group is signalled no more when nobody is left in it', async (t) => {
  const signals: (string | number | undefined)[] = []
  t.intercept(process, 'kill', {
    value: (pid: number, signal?: string | number) => {
      signals.push(signal)
      return kill.call(process, pid, signal)
    },
  })
  await outcomeOf('true', () => {})
  t.same(signals.splice(0), ['SIGKILL'], 'once, for what it may have left behind')
  const command = 'trap "exit 0" TERM; echo ready >&2; while :; do sleep 0.01; done'
  await outcomeOf(command, (run) => run.abort())
  t.same(signals.splice(0), ['SIGTERM', 0])
})

/** Runs the command; `act` is called when it has written its first line: the shell may write more. */
function outcomeOf(command: string, act: (run: CommandRun) => void): Promise<Outcome> {
  return new Promise((ended) => {
    let lines = 0
    const logged = () => {
      if (lines++ === 0) act(run)
    }
    const run = new CommandRun(command, work, { ended, logged })
  })
}

t.test('of a flood of lines a turn of the loop takes some, and the rest is counted', async (t) => {
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
    told += Number(fields?.leftOut ?? 1)
  }
  const command = `python3 -c 'import sys; sys.stderr.write("x\\n" * 30000); sys.exit("the end")'`
  const isolation = new CommandIsolation(command)
  const outcome = await new Promise<Outcome>((ended) => isolation.run(work, { ended, logged }))
  t.ok(mostInTurn <= 257, `${mostInTurn} lines in a turn`)
  t.equal(told, 30_001)
  t.match(outcome, { kind: 'failed', reason: /the end$/ })
})

t.test(
  'lines come whole wherever they are cut; one that is too long comes in several',
  async (t) => {
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
  },
)

t.test('the tail of what is long begins with a whole character', async (t) => {
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
