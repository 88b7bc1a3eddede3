import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { loadVerbs } from '@tenure/app-kit'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'
import { program } from '../src/program.js'
import { golden } from './golden.js'
import { normalise } from './normalise.js'
import { type } from './terminal.js'
import { binary, run, World } from './world.js'

const terminal = { columns: 100, rows: 30 }

t.test(
  'on a terminal, watch draws over what it drew; Ctrl-C leaves that and a clean line',
  async (t) => {
    const world = await World.start(t)
    let frames = 0
    const { code, stdout, stderr } = await type(['watch', '--interval', '100ms'], {
      env: world.env,
      terminal,
      hear: (text, signal) => {
        if (text.includes('Ctrl-C ends') && ++frames === 3) signal('SIGINT')
      },
    })
    t.same({ code, stderr }, { code: 0, stderr: '' })
    const [first = '', second = '', third = '', end] = stdout.split('\r\u001b[')
    for (const frame of [second, third]) t.match(frame, /^\d+A/, 'it goes up first')
    golden(t, 'terminal/watch', normalise(`${first}\n---\n${third}`))
    t.equal(end, 'K')
  },
)

t.test('on a terminal, a waiting command names the coordinator, and says why', async (t) => {
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
    /^tenure: no coordinator at 127\.0\.0\.1:1, 127\.0\.0\.1:\d+ yet \(.*ECONNREFUSED.*\); trying for 1100ms in all$/,
  )
  t.match(
    end,
    /^tenure: no connection within 1100 ms.* Is a coordinator running there, and ready \(\/readyz tells\)\? .*--coordinator/,
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

t.test('a real terminal is one', { skip: !hasScript && 'no script of util-linux' }, async (t) => {
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
  'lines come from the standard input; Ctrl-C breaks it off and tells how to go on',
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

t.test('the bytes of a result come out as they went in', async (t) => {
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

t.test('every verb has a help with examples, no line of it longer than 100 columns', async (t) => {
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

/** What is typed for each verb, and for each noun. */
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
