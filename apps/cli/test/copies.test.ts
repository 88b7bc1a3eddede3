import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Book, writeLog } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { showCheckpoint } from '../src/verbs/checkpoint.js'
import { golden } from './golden.js'
import { normalise } from './normalise.js'
import { transcript, type } from './terminal.js'
import { World } from './world.js'

/** What is typed and said, one command after the other, with a word for the directory. */
class Session {
  readonly directory: string
  readonly #env: Readonly<Record<string, string>>
  text = ''

  constructor(t: Test, env = {}) {
    this.directory = mkdtempSync(join(tmpdir(), 'tenure-'))
    t.teardown(() => rmSync(this.directory, { recursive: true, force: true }))
    this.#env = env
  }

  async type(...words: string[]): Promise<void> {
    const args = words.map((word) => word.replace(/^DIR/, this.directory))
    const said = await type(args, { env: this.#env })
    const shown = transcript(args, said).replaceAll(this.directory, 'DIR')
    this.text += `${normalise(shown)}\n`
  }
}

/** A task that ran twice, and a second one that waits. */
function someBook(): Book {
  const book = new Book()
  const task = book.submit({ queue: 'mail', requestId: 'r-1' })
  const first = book.wait(5).lease(task, 'w-7')
  book.wait(10_000).extend(first)
  book.expire(first)
  const second = book.wait(20).lease(task, 'w-8')
  book.wait(3200).cancel(first)
  book.wait(100).complete(second, { result: Buffer.from('done') })
  book.submit()
  return book
}

t.test('backup and restore, for people and for programs', async (t) => {
  const session = new Session(t)
  await writeLog(join(session.directory, 'data'), someBook(), { checkpoints: [4] })
  await session.type('backup', 'DIR/data', '--to', 'DIR/copy')
  await session.type('backup', 'DIR/data', '--to', 'DIR/copy')
  await session.type('backup', 'DIR/data', '--to', 'DIR/other', '--json')
  await session.type('restore', 'DIR/copy', '--to', 'DIR/new')
  await session.type('restore', 'DIR/other', '--to', 'DIR/newer', '--next-lsn', '1000', '--json')
  await session.type('restore', 'DIR/other', '--to', 'DIR/newest', '--next-lsn', '3')
  golden(t, 'commands/backup-restore', session.text)
})

t.test('checkpoint, for people and for programs', async (t) => {
  const world = await World.start(t)
  const session = new Session(t, world.env)
  await session.type('checkpoint')
  await session.type('submit', 'hello', '--request-id', 'a')
  await session.type('checkpoint')
  await session.type('submit', 'hello', '--request-id', 'b')
  await session.type('checkpoint', '--json')
  await session.type('checkpoint', '--json')
  golden(t, 'commands/checkpoint', session.text)
})

t.test('a checkpoint for which nothing was replayed is told like any other', async (t) => {
  const removed = { segments: 0, bytes: 0, checkpoints: 0 }
  const made = { lsn: 2, replayed: 0, replayMs: 1, writeMs: 2, removed }
  t.match(showCheckpoint({ ...made, tasks: 2 }), /^A checkpoint of 2 tasks at LSN 2, made in/)
  t.match(showCheckpoint(made), /^Nothing has happened since the checkpoint at LSN 2/)
})

t.test('explain, for programs', async (t) => {
  const session = new Session(t)
  await writeLog(join(session.directory, 'data'), someBook())
  const { stdout } = await type(['explain', `${session.directory}/data#1`, '--json'])
  golden(t, 'explain/ran-twice-json', `${JSON.stringify(JSON.parse(stdout), null, 2)}\n`)
})
