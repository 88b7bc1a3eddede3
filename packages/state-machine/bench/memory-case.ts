import { countTasks } from '../src/index.js'
import { Recording } from './recording.js'
import { atMost, type Result, round } from './result.js'
import { WaitingStream } from './streams.js'
import { decodeAll, Subject } from './subject.js'
import { TaskMaker } from './task-maker.js'

const liveTasks = 1_000_000

/**
 * Resident memory per waiting task, in a fresh process. Everything runs once before the first
 * reading, so that compiled code and the young generation exist already. But hardly any task was
 * kept whose memory could be reused.
 */
export function measureMemory(idShare: number): Result[] {
  warmUp(idShare)
  const before = look()
  const subject = new Subject()
  subject.fill(new WaitingStream(liveTasks, idShare))
  const after = look()
  const bytesPerTask = round((after.rss - before.rss) / liveTasks)
  // Reads the state, so that it is still alive here.
  if (subject.state.authoritative.lastLsn !== liveTasks) throw new Error('a task is missing')
  return [
    {
      case: 'memory',
      variant: idShare === 0 ? 'no request_id' : 'all with request_id',
      bytesPerTask,
      rounds: 1,
      ...(idShare === 0 ? atMost(400, bytesPerTask) : undefined),
      details: {
        liveTasks,
        payloadBytes: 100,
        requestIdShare: idShare,
        rssMiB: [before.rss, after.rss].map((bytes) => round(bytes / 2 ** 20)),
        heapBytesPerTask: round((after.heapUsed - before.heapUsed) / liveTasks),
        bufferBytesPerTask: round((after.arrayBuffers - before.arrayBuffers) / liveTasks),
      },
    },
  ]
}

const survivors = 1000
const passersBy = 2000

/**
 * Cost of a task that outlived all others around it: two thousand come and go for each that stays.
 * Rows and pages of removed tasks are reused, so they do not count.
 */
export function measureSurvivors(): Result[] {
  const subject = new Subject()
  const maker = new TaskMaker(0, (record) => subject.apply(record), 1)
  // The first ones warm up the compiler.
  survive(maker, survivors / 10)
  const before = look()
  survive(maker, survivors)
  const after = look()
  const costs = (of: NodeJS.MemoryUsage) => of.heapUsed + of.arrayBuffers
  const bytesPerTask = round((costs(after) - costs(before)) / survivors)
  const waiting = countTasks(subject.state).waiting
  if (waiting !== survivors * 1.1) throw new Error(`${waiting} tasks are left`)
  return [
    {
      case: 'memory',
      variant: 'survivors',
      bytesPerTask,
      rounds: 1,
      details: { survivors, passersBy, payloadBytes: 100 },
    },
  ]
}

function survive(maker: TaskMaker, count: number): void {
  for (let survivor = 0; survivor < count; survivor++) {
    maker.create()
    for (let passed = 0; passed < passersBy; passed++) {
      const taskId = maker.create()
      maker.write({ type: 'TaskDead', at: maker.at, taskId, reason: '' })
    }
    maker.forget(maker.lsn)
  }
}

function warmUp(idShare: number): void {
  const recording = new Recording()
  const stream = new WaitingStream(1000, idShare)
  stream.maker.sink = (record) => recording.add(record)
  stream.fill()
  new Subject().replay(recording)
  for (let times = 0; times < 300; times++) decodeAll(recording)
}

function look(): NodeJS.MemoryUsage {
  gc!()
  gc!()
  return process.memoryUsage()
}
