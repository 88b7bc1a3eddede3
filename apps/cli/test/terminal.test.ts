import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { loadVerbs } from '@tenure/app-kit'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'
import { program } from '../src/program.js'
import { displayOf, paint, plain } from '../src/terminal/display.js'
import {
  countOf,
  showAge,
  showCount,
  showDuration,
  showRate,
  showSize,
} from '../src/terminal/format.js'
import { showTable } from '../src/terminal/table.js'
import { cutTo, showBytes, widthOf } from '../src/terminal/text.js'

import { onTerminal } from './facts.js'
import { golden, normalise } from './golden.js'
import { type } from './terminal.js'
import { binary, run, World } from './world.js'

const output = { fd: 1, write: () => {} }
const tty = { ...output, isTTY: true, columns: 132 }

t.test('colours are for terminals, unless NO_COLOR or FORCE_COLOR is set', async (t) => {
  const coloursOf = (output: Parameters<typeof displayOf>[0], env: Record<string, string>) =>
    displayOf(output, env).colours
  t.equal(coloursOf(tty, {}), true)
  t.equal(coloursOf(output, {}), false)
  t.equal(coloursOf(tty, { NO_COLOR: '1' }), false)
  t.equal(coloursOf(tty, { NO_COLOR: '' }), true)
  t.equal(coloursOf(tty, { TERM: 'dumb' }), false)
  t.equal(coloursOf(output, { FORCE_COLOR: '1' }), true)
  t.equal(coloursOf(tty, { FORCE_COLOR: '0' }), false)
  t.equal(coloursOf(tty, { FORCE_COLOR: 'false' }), false)
  t.equal(coloursOf(output, { FORCE_COLOR: '1', NO_COLOR: '1' }), true)
})

t.test('lines are as wide as the terminal, or 100 columns elsewhere', async (t) => {
  t.equal(displayOf(tty, {}).columns, 132)
  t.equal(displayOf({ ...tty, columns: 12 }, {}).columns, 40, 'the minimum width of a table')
  t.equal(displayOf({ ...output, isTTY: true }, {}).columns, 100)
  t.equal(displayOf({ ...output, columns: 50 }, {}).columns, 100)
})

t.test('without colours, text stays unchanged', async (t) => {
  t.equal(paint(plain, 'bad', 'x'), 'x')
  t.equal(paint(onTerminal, undefined, 'x'), 'x')
  t.equal(paint(onTerminal, 'bad', ''), '')
  t.equal(paint(onTerminal, 'bad', 'x'), '\u001b[31mx\u001b[39m')
})

t.test('widths count the columns of a terminal', async (t) => {
  t.equal(widthOf('請求書'), 6)
  t.equal(widthOf('e\u0301'), 1)
  t.equal(widthOf('👩‍👩‍👧'), 2)
  t.equal(cutTo(6, '請求書'), '請求書')
  t.equal(cutTo(5, '請求書'), '請求…')
  t.equal(cutTo(4, '請求書'), '請…')
  t.equal(cutTo(3, 'abcdef'), 'ab…')
})

t.test('numbers and times are rounded to about three digits', async (t) => {
  t.same([0, 999, 1000, 1_234_567].map(showCount), ['0', '999', '1,000', '1,234,567'])
  t.same(
    [0, 1, 2].map((count) => countOf(count, 'task')),
    ['0 tasks', '1 task', '2 tasks'],
  )
  t.same(
    [showRate(0, 1000), showRate(3, 2000), showRate(30_000, 2000), showRate(1, 0)],
    [...['0/s', '1.5/s', '15,000/s', '0/s']],
  )
  t.same([0, 1023, 1024, 1_500_000, 2 ** 43].map(showSize), [
    ...['0 B', '1023 B', '1.0 KiB', '1.4 MiB', '8.0 TiB'],
  ])
  t.same([0, 999, 1000, 119_999, 120_000, 7_200_000, 172_800_000].map(showDuration), [
    ...['0 ms', '999 ms', '1.0 s', '120.0 s', '2.0 min', '2.0 h', '2.0 d'],
  ])
  t.equal(showAge(5000, 2000), '0 ms ago', 'clocks differ')
})

t.test('bytes that are text are shown as text, and cut if long', async (t) => {
  t.equal(showBytes(Buffer.from('grün\n')), 'grün')
  t.equal(showBytes(Buffer.from([0x66, 0xff])), '2 bytes of binary data')
  t.equal(showBytes(Buffer.from('a\u0000b')), '3 bytes of binary data')
  const text = `${'x'.repeat(199)}😀y`
  const [start] = showBytes(Buffer.from(text)).split('…')
  t.equal(start, 'x'.repeat(199), 'a surrogate pair is not cut')
  t.match(showBytes(Buffer.from(text)), '… (204 bytes; --json shows all)')
})

t.test('the last column of a table may have several lines', async (t) => {
  t.equal(
    showTable([
      ['a', 'one\r\ntwo'],
      ['bcd\n', 'three\tfour'],
    ]),
    'a      one\n       two\nbcd\\n  three\\tfour\n',
  )
})

const terminal = { columns: 100, rows: 30 }

t.test(
  'on a terminal, watch redraws in place; Ctrl-C leaves the last frame and a clean line',
  async (t) => {
    const world = await World.start(t)
    let frames = 0
    const { code, stdout, stderr } = await type(['watch', '--interval', '100ms'], {
      env: world.env,
      terminal,
      hear: (text, signal) => {
        if (text.includes('Ctrl-C to stop') && ++frames === 3) signal('SIGINT')
      },
    })
    t.same({ code, stderr }, { code: 0, stderr: '' })
    const [first = '', second = '', third = '', end] = stdout.split('\r\u001b[')
    for (const frame of [second, third]) t.match(frame, /^\d+A/, 'the cursor moves up first')
    golden(t, 'terminal/watch', normalise(`${first}\n---\n${third}`))
    t.equal(end, 'K')
  },
)

t.test('on a terminal, a slow connection is explained', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as { port: number }
  const places = `127.0.0.1:1,127.0.0.1:${port}`
  const args = ['get', '1', '--coordinator', places, '--connect-timeout', '1100ms']
  const { stderr } = await type(args, { terminal })
  const [notice, end, ...more] = stderr.split('\n')
  t.match(
    notice,
    /^tenure: no coordinator at 127\.0\.0\.1:1, 127\.0\.0\.1:\d+ yet \(.*ECONNREFUSED.*\); giving up after 1100ms$/,
  )
  t.match(
    end,
    /^tenure: no connection within 1100 ms.* Is a coordinator running there, and ready \(see \/readyz\)\? .*--coordinator/,
  )
  t.same(more, [''])
})

t.test('on a terminal, states have colours', async (t) => {
  const world = await World.start(t)
  await world.tenure('submit', 'x', '--request-id', 'x')
  await world.tenure('kill', '1')
  const { env } = world
  const { stdout } = await type(['list'], { env, terminal })
  golden(t, 'terminal/list', normalise(stdout))
  const uncoloured = await type(['list'], { env: { ...env, NO_COLOR: '1' }, terminal })
  t.notMatch(uncoloured.stdout, '\u001b')
})

const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0

t.test('watch on a real terminal', { skip: !hasScript && 'no script of util-linux' }, async (t) => {
  const world = await World.start(t)
  await world.tenure('submit', 'x', '--request-id', 'x')
  const env = {
    ...cleanEnvironment(process.env),
    ...world.env,
    TERM: 'xterm',
  }
  const { NO_COLOR: _, FORCE_COLOR: __, ...own } = env as NodeJS.ProcessEnv
  const typed = `stty cols 90 rows 20; ${process.execPath} ${binary} watch --interval 100ms --count 1`
  const child = spawn('script', ['-qec', typed, '/dev/null'], {
    env: own,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (bytes) => {
    said += bytes
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  golden(t, 'terminal/real', normalise(said.replaceAll('\r\n', '\n')))
})

t.test(
  'lines come from standard input; Ctrl-C stops the run and prints how to continue',
  async (t) => {
    const world = await World.start(t)
    const args = ['submit', '--lines', '-', '--request-id-prefix', 'p', '--json']
    const child = spawn(process.execPath, [binary, ...args], {
      env: { ...cleanEnvironment(process.env), ...world.env },
    })
    t.teardown(() => child.kill('SIGKILL'))
    const complaints: Buffer[] = []
    child.stderr.on('data', (bytes) => complaints.push(bytes))
    const closed = once(child, 'close')
    child.stdin.write('one\ntwo\nthree\nbegun')
    const lines: unknown[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(JSON.parse(line))
      if (lines.length === 3) child.kill('SIGINT')
    }
    t.same(await closed, [130, null])
    t.match(
      lines,
      [1, 2, 3].map((line) => ({ line, taskId: line, known: false })),
    )
    golden(t, 'terminal/broken-off', Buffer.concat(complaints).toString())
  },
)

t.test('get --result writes the bytes of a result unchanged', async (t) => {
  const world = await World.start(t)
  await world.tenure('submit', 'x')
  await (await world.lease()).complete(Buffer.from([0, 255, 27, 91, 10]))
  const args = [binary, 'get', '1', '--result']
  const env = { ...cleanEnvironment(process.env), ...world.env }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const bytes: Buffer[] = []
  child.stdout.on('data', (chunk) => bytes.push(chunk))
  await once(child, 'close')
  t.same(Buffer.concat(bytes), Buffer.from([0, 255, 27, 91, 10]))
})

t.test('the help of every verb has examples and fits in 100 columns', async (t) => {
  t.match(await run(t, ['--help']), { code: 0, stdout: /\nExamples:\n/ })
  for (const words of await wordsOf(program)) {
    const { code, stdout } = await type([...words, '--help'])
    t.equal(code, 0)
    t.match(stdout, `tenure ${words.join(' ')}`)
    t.match(stdout, '\nExamples:\n  ')
    t.same(
      stdout.split('\n').filter((line) => line.length > 100),
      [],
      words.join(' '),
    )
  }
})

/** The words of each verb and each group. */
async function wordsOf({ verbs }: Pick<typeof program, 'verbs'>): Promise<string[][]> {
  const typed: string[][] = []
  for (const [word, verb] of await loadVerbs(verbs)) {
    typed.push([word])
    if (!('verbs' in verb)) continue
    for (const words of await wordsOf(verb)) typed.push([word, ...words])
  }
  return typed
}

t.test('bash can read its completion', { skip: process.platform === 'win32' }, async (t) => {
  const { stdout } = await type(['completion', 'bash'])
  const offer = `COMP_WORDS=(tenure list --state ''); COMP_CWORD=3; _tenure; echo "\${COMPREPLY[@]}"`
  const { stdout: said, stderr } = spawnSync('bash', ['-c', `${stdout}\n${offer}`], {
    encoding: 'utf8',
  })
  t.same({ said, stderr }, { said: 'WAITING LEASED COMPLETED FAILED DEAD\n', stderr: '' })
})
