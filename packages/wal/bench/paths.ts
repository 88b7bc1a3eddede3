import { Latencies, median } from '@tenure/harness'
import { makeRecord } from './appenders.js'
import type { WorkDirectory } from './directory.js'
import { DsyncFile } from './dsync-file.js'
import { describeMachine } from './machine.js'
import type { BenchOptions } from './options.js'
import { round } from './result.js'
import { WritingThread } from './writing-thread.js'

const fileBytes = 64 * 1024 * 1024
const sizes = [512, 9 * 1024, 36 * 1024, 140 * 1024]
const paths = ['loop', 'pool', 'thread'] as const

/** Compares three ways of making sequential durable writes. Supports a decision record. */
export async function measurePaths(directory: WorkDirectory, options: BenchOptions): Promise<void> {
  const file = new DsyncFile(directory.join('paths'), fileBytes)
  const thread = new WritingThread(file, Math.max(...sizes))
  const bytes = makeRecord(Math.max(...sizes))
  thread.buffer.set(bytes)
  const write = {
    loop: async (size: number, position: number) =>
      file.writeOnLoop(bytes.subarray(0, size), position),
    pool: (size: number, position: number) => file.writeOnPool(bytes.subarray(0, size), position),
    thread: (size: number, position: number) => thread.write(size, position),
  }
  const rounds = options.rounds ?? (options.quick ? 3 : 7)
  const windowMs = options.quick ? 150 : 800
  if (!options.json) drawHead(directory)
  for (const size of sizes) {
    const measured = paths.map((path) => ({ path, rounds: [] as ReturnType<typeof figuresOf>[] }))
    for (let done = 0; done < rounds; done++) {
      for (const { path, rounds } of measured) {
        rounds.push(await measureWrites((position) => write[path](size, position), size, windowMs))
      }
    }
    for (const { path, rounds } of measured) report(options.json, path, size, rounds)
  }
  await thread.close()
  file.close()
}

async function measureWrites(
  write: (position: number) => Promise<void>,
  size: number,
  windowMs: number,
) {
  const latencies = new Latencies()
  const startedMs = performance.now()
  let endedMs = startedMs
  for (let position = 0; endedMs - startedMs < windowMs; position += size) {
    if (position + size > fileBytes) position = 0
    await write(position)
    latencies.add(performance.now() - endedMs)
    endedMs = performance.now()
  }
  return figuresOf(latencies, endedMs - startedMs)
}

function figuresOf(latencies: Latencies, durationMs: number) {
  return {
    writesPerSecond: (latencies.count * 1000) / durationMs,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
  }
}

function drawHead(directory: WorkDirectory): void {
  const { processor, cores, node, fileSystem } = describeMachine(directory.fileSystem)
  process.stdout.write(`${processor}, ${cores} cores, ${fileSystem}, Node ${node}\n`)
  process.stdout.write('   bytes  path    writes/s     p50 ms     p99 ms\n')
}

function report(
  isJson: boolean,
  path: string,
  bytes: number,
  rounds: readonly ReturnType<typeof figuresOf>[],
): void {
  const writesPerSecond = Math.round(median(rounds.map((figures) => figures.writesPerSecond)))
  const p50Ms = round(median(rounds.map((figures) => figures.p50Ms)))
  const p99Ms = round(median(rounds.map((figures) => figures.p99Ms)))
  const row = [bytes, path.padEnd(6), writesPerSecond, p50Ms, p99Ms]
  const widths = [8, 6, 10, 9, 9]
  const text = row.map((cell, column) => String(cell).padStart(widths[column] ?? 0)).join('  ')
  const line = { case: 'paths', path, bytes, writesPerSecond, p50Ms, p99Ms, rounds: rounds.length }
  process.stdout.write(`${isJson ? JSON.stringify(line) : text}\n`)
}
