import { Gate, Peers, recover } from '@tenure/coordinator-server/internal'
import { verifyHistory } from '@tenure/history'
import { ClientConnection, decodeRequest, type Request, ServerConnection } from '@tenure/protocol'
import { checkStructure } from '@tenure/protocol/internal'
import {
  apply,
  createState,
  decodeRecord,
  position,
  type State,
  StateDecoder,
  skipTo,
} from '@tenure/state-machine'
import { SimulatedClock, type SimulatedDisk } from '@tenure/testing'
import { type BadCheckpoint, openLog, openReadOnly, verifyLog } from '@tenure/wal'
import { Unpackr } from 'msgpackr'
import t, { type Test } from 'tap'
import { fuzz } from '../src/campaign/campaign.js'
import { checkpointPath, makeBaseHistories } from '../src/checkpoints/base-history.js'
import { checkpointsTarget } from '../src/checkpoints/checkpoints-target.js'
import { configurationTarget } from '../src/configuration/configuration-target.js'
import { framesTarget } from '../src/frames/frames-target.js'
import { guardTarget } from '../src/guard/guard-target.js'
import type { Target } from '../src/input/target.js'
import { recordsTarget } from '../src/records/records-target.js'
import { segmentsTarget } from '../src/segments/segments-target.js'

// Each fuzzer gets deliberately broken code, and has to find the fault.

const inputsMax = 3000

/** Fuzzes until something is found, which has to be this check. */
async function finds(t: Test, target: Target, check: string): Promise<void> {
  t.teardown(() => target.close?.())
  const found: string[] = []
  const { inputs, findings } = await fuzz(target, {
    seed: 1,
    shrinksMax: 20,
    isOver: (tried) => tried >= inputsMax || found.includes(check),
    onFinding: (finding) => found.push(finding.check),
  })
  t.ok(found.includes(check), `${found} after ${inputs} inputs`)
  const [finding] = findings.filter((it) => it.check === check)
  t.comment(`${target.name}: ${inputs} inputs; ${JSON.stringify(finding?.input).length} characters`)
}

t.test('guard', async (t) => {
  await t.test('that accepts everything', async (t) => {
    const target = guardTarget({ checkStructure: () => {} })
    await finds(t, target, 'the guard accepts exactly the valid structures')
  })
  await t.test('that ignores bytes after the value', async (t) => {
    const target = guardTarget({
      checkStructure(bytes, limits) {
        try {
          checkStructure(bytes, limits)
        } catch (error) {
          if (!/bytes follow the value/.test(String(error))) throw error
        }
      },
    })
    await finds(t, target, 'the guard accepts exactly the valid structures')
  })
  await t.test('that runs after a decoder', async (t) => {
    const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true })
    const target = guardTarget({
      decodeRequest(body) {
        unpackr.unpack(body)
        return decodeRequest(body)
      },
    })
    await finds(t, target, 'only typed errors are thrown')
  })
  await t.test('whose typed decoder checks less', async (t) => {
    const target = guardTarget({
      decodeRequest(body) {
        // As if a heartbeat in its shortest encoding were read without checking its fields.
        const isLonger = body[0] === 0x94 && body[1] === 3 && body.length > 5
        return decodeRequest(isLonger ? Buffer.of(0x94, 3, 1, 1, 1) : body)
      },
    })
    await finds(t, target, 'a message decodes the same in every encoding')
  })
  await t.test('that allocates the announced length', async (t) => {
    const reserved: Uint8Array[] = []
    const target = guardTarget({
      checkStructure(bytes, limits) {
        if (bytes.includes(0xdd)) reserved.push(new Uint8Array(64 * 2 ** 20))
        reserved.length = 0
        checkStructure(bytes, limits)
      },
    })
    await finds(t, target, 'memory grows only with received bytes')
  })
})

t.test('frames', async (t) => {
  await t.test('whose start is lost when a length arrives in chunks', async (t) => {
    class Careless extends ServerConnection {
      override push(bytes: Uint8Array, now: number): void {
        super.push(bytes.length === 1 && bytes[0] === 0 ? Uint8Array.of(0, 0) : bytes, now)
      }
    }
    const target = framesTarget({ openServer: (limits, now) => new Careless(limits, now) })
    await finds(t, target, 'chunk boundaries change nothing')
  })
  await t.test('that a client does not copy', async (t) => {
    class Forgetful extends ClientConnection {
      override keep(): void {}
    }
    const target = framesTarget({ openClient: () => new Forgetful() })
    await finds(t, target, 'chunk boundaries change nothing')
  })
  await t.test('that are sent to an unaccepted peer', async (t) => {
    const target = framesTarget({
      openPeers: (context, active, limits) =>
        new Peers({ ...context, gate: new Gate([]) }, active, limits),
    })
    await finds(t, target, 'a violation ends the connection, and nothing else does')
  })
  await t.test('with one answered twice', async (t) => {
    const target = framesTarget({
      openPeers: (context, active, limits) => {
        const { coordinator } = active
        const handle = coordinator.handle.bind(coordinator)
        coordinator.handle = (request, session, respond) =>
          handle(request, session, (answer) => {
            respond(answer)
            if ((request as Request).kind === 'stats') respond(answer)
          })
        return new Peers(context, active, limits)
      },
    })
    await finds(t, target, 'every answer belongs to a request')
  })
  await t.test('with an error that ends the process', async (t) => {
    const target = framesTarget({
      openPeers: (context, active, limits) => {
        const { coordinator } = active
        const handle = coordinator.handle.bind(coordinator)
        coordinator.handle = (...asked) => {
          if ((asked[0] as Request).kind === 'why') throw new TypeError('unexpected')
          return handle(...asked)
        }
        return new Peers(context, active, limits)
      },
    })
    await finds(t, target, 'only typed errors are thrown')
  })
})

t.test('records', async (t) => {
  await t.test('with two encodings', async (t) => {
    const target = recordsTarget({
      decodeRecord(bytes) {
        try {
          return decodeRecord(bytes)
        } catch {
          return decodeRecord(bytes.subarray(0, -1))
        }
      },
    })
    await finds(t, target, 'a record has one encoding')
  })
  await t.test('applied against the rules', async (t) => {
    const target = recordsTarget({
      apply(state, lsn, record) {
        apply(state, lsn, record.type === 'TaskDead' ? { ...record, reason: 'why' } : record)
      },
    })
    await finds(t, target, 'a rejected record changes nothing')
  })
  await t.test('with one rejected without a reason', async (t) => {
    const target = recordsTarget({
      apply(state, lsn, record) {
        if (record.type === 'TasksForgotten' && record.through === 1) {
          apply(state, lsn + 1, record)
        } else apply(state, lsn, record)
      },
    })
    await finds(t, target, 'the state machine and the naive model reject the same records')
  })
})

t.test('segments', async (t) => {
  await t.test('with silently truncated damage', async (t) => {
    const target = segmentsTarget({
      async openLog(directory, options) {
        try {
          return await openLog(directory, options)
        } catch (error) {
          const { acceptable } = (error as { damage?: { acceptable?: never } }).damage ?? {}
          if (acceptable === undefined) throw error
          const clock = new SimulatedClock({ startMs: Date.UTC(2026, 6, 1) })
          return openLog(directory, { ...options, clock, acceptLoss: acceptable })
        }
      },
    })
    await finds(t, target, 'a damaged log does not open')
  })
  await t.test('with a reader that skips records', async (t) => {
    const target = segmentsTarget({
      async openReadOnly(directory, options) {
        const reader = await openReadOnly(directory, options)
        const replay = reader.replay.bind(reader)
        reader.replay = async function* (how) {
          for await (const run of replay(how)) yield { ...run, records: run.records.slice(0, 4) }
        }
        return reader
      },
    })
    await finds(t, target, 'no record is missing in the middle')
  })
  await t.test('with damage reported by an untyped error', async (t) => {
    const target = segmentsTarget({
      async verifyLog(directory, options) {
        const report = await verifyLog(directory, options)
        if (report.damage?.file === 'HEAD') throw new RangeError('offset is out of bounds')
        return report
      },
    })
    await finds(t, target, 'only typed errors are thrown')
  })
})

/** A `verifyLog` that reports these as good. */
function callingGood(isMeant: (lsn: number, disk: SimulatedDisk) => boolean): typeof verifyLog {
  return async (directory, options) => {
    const { goodCheckpoints, badCheckpoints, ...rest } = await verifyLog(directory, options)
    const disk = options?.disk as SimulatedDisk
    const isCalledGood = ({ lsn }: BadCheckpoint) => isMeant(lsn, disk)
    const called = badCheckpoints.filter(isCalledGood).map(({ lsn }) => lsn)
    return {
      ...rest,
      goodCheckpoints: [...goodCheckpoints, ...called],
      badCheckpoints: badCheckpoints.filter((bad) => !isCalledGood(bad)),
    }
  }
}

function hasSameSegments(one: SimulatedDisk, other: SimulatedDisk): boolean {
  const segments = one.files().filter((path) => path.includes('/wal/'))
  const isSame = (path: string) => Buffer.compare(one.readFile(path), other.readFile(path)) === 0
  return segments.every((path) => other.files().includes(path) && isSame(path))
}

t.test('checkpoints', async (t) => {
  await t.test('that are not reported', async (t) => {
    const target = checkpointsTarget({
      async verifyLog(directory, options) {
        const report = await verifyLog(directory, options)
        return { ...report, badCheckpoints: [] }
      },
    })
    await finds(t, target, 'every checkpoint is reported')
  })
  await t.test('verified by length only', async (t) => {
    const bases = await makeBaseHistories()
    const target = checkpointsTarget({
      verifyLog: callingGood((lsn, disk) => {
        const base = bases.find(({ disk: written }) => hasSameSegments(written, disk))!
        const path = checkpointPath(lsn)
        if (!base.checkpointLsns.includes(lsn)) return false
        return disk.readFile(path).length === base.disk.readFile(path).length
      }),
    })
    await finds(t, target, 'a good checkpoint has its original content')
  })
  await t.test('that are all reported as good', async (t) => {
    const target = checkpointsTarget({ verifyLog: callingGood(() => true) })
    await finds(t, target, 'a good checkpoint has its original content')
  })
  await t.test('that verifyHistory does not report', async (t) => {
    const target = checkpointsTarget({
      verifyHistory: async (log, options) => ({
        ...(await verifyHistory(log, options)),
        checkpoints: [],
      }),
    })
    await finds(t, target, 'verifyHistory reports every checkpoint')
  })
  await t.test('compared as always equal', async (t) => {
    const target = checkpointsTarget({
      async verifyHistory(log, options) {
        const verification = await verifyHistory(log, options)
        const checkpoints = verification.checkpoints.map(({ lsn }) => {
          return { lsn, verdict: 'equal' } as const
        })
        return { ...verification, checkpoints }
      },
    })
    await finds(t, target, 'verifyHistory finds a checkpoint that differs from its records')
  })
  await t.test('with no records replayed after them', async (t) => {
    const target = checkpointsTarget({
      recover: async (log, options) =>
        log.checkpointLsn === 0 ? createState() : recover(log, options),
    })
    await finds(t, target, 'the state matches the records')
  })
  await t.test('with a decoder that changes the state', async (t) => {
    class Ahead extends StateDecoder {
      override finish(): State {
        const state = super.finish()
        skipTo(state, position(state).lastLsn + 2)
        return state
      }
    }
    const target = checkpointsTarget({ openDecoder: () => new Ahead() })
    await finds(t, target, 'a state has one encoding')
  })
})

t.test('configuration', async (t) => {
  await t.test('that shows a secret', async (t) => {
    const target = configurationTarget((program) => ({
      ...program,
      async start(_args, env) {
        const message = `--port is ${Object.values(env)}`
        return { exitCode: 2, message, error: new Error(message) }
      },
    }))
    await finds(t, target, 'no secret is shown')
  })
  await t.test('that ends with an untyped error', async (t) => {
    const target = configurationTarget((program) => ({
      ...program,
      async start(args, env) {
        for (const word of args) if (word.startsWith('127')) new URL(word)
        return program.start(args, env)
      },
    }))
    await finds(t, target, 'only typed errors are thrown')
  })
  await t.test('that does not name the wrong setting', async (t) => {
    const target = configurationTarget((program) => ({
      ...program,
      async start(args, env) {
        if (args.length < 3) return program.start(args, env)
        const message = 'something is not as it should be'
        return { exitCode: 2, message, error: new Error(message) }
      },
    }))
    await finds(t, target, 'a configuration error names the setting')
  })
})
