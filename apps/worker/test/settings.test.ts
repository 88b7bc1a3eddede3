import { byName, ConfigError, configure, flagOf, runCommand, variableOf } from '@tenure/app-kit'
import t from 'tap'
import { CommandIsolation } from '../src/exec/isolation.js'
import { toOptions } from '../src/options.js'
import { command } from '../src/program.js'
import { settings } from '../src/settings.js'

// app-kit tests how values are read; this tests the worker's own table.

/** Any existing file. */
const handler = import.meta.filename

const all = [...byName(settings)]

function optionsOf(args: string[], env: Record<string, string> = {}) {
  return toOptions(configure(command, args, env))
}

/** The message of the error that rejects the configuration. */
function refusal(args: string[], env: Record<string, string> = {}): string {
  try {
    optionsOf(args, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'it was accepted'
}

t.test('exactly one of handler and command is required', async (t) => {
  const either = 'set exactly one of --handler and --exec'
  t.equal(refusal([]), `neither is set; ${either}`)
  t.equal(refusal(['--handler', handler, '--exec', 'true']), `both are set; ${either}`)
  t.equal(refusal(['--handler', handler], { TENURE_EXEC: 'true' }), `both are set; ${either}`)
  t.match(optionsOf(['--handler', handler]), { handler, isolation: 'thread' })
  const { handler: none, isolation } = optionsOf(['--exec', 'true'])
  t.equal(none, undefined)
  t.ok(isolation instanceof CommandIsolation)
})

t.test('a missing handler file is rejected, also by --print-config', async (t) => {
  t.equal(
    refusal(['--handler', 'nope.mjs']),
    '--handler is nope.mjs, which does not exist; set it to the path of a module',
  )
  const env = { TENURE_HANDLER: 'file:///nope.mjs' }
  t.equal(
    refusal([], env),
    'TENURE_HANDLER is file:///nope.mjs, which does not exist; set it to the path of a module',
  )
  t.equal(
    refusal(['--handler', 'file://[']),
    '--handler is file://[, which does not exist; set it to the path of a module',
  )
  t.match(
    await said(['--handler', 'nope.mjs', '--print-config']),
    /--handler is nope\.mjs, which does not exist; .*\n$/,
  )
  t.match(optionsOf(['--handler', import.meta.url]), { handler: import.meta.url })
})

t.test('--isolation is rejected for a command', async (t) => {
  const why = 'applies only to --handler; a command always runs in its own process'
  t.equal(refusal(['--exec', 'true', '--isolation', 'thread']), `--isolation ${why}`)
  t.equal(refusal(['--exec', 'true'], { TENURE_ISOLATION: 'inline' }), `TENURE_ISOLATION ${why}`)
})

t.test('an empty configuration uses the defaults of the worker', async (t) => {
  const { name = '', ...options } = optionsOf(['--handler', handler])
  t.match(name, new RegExp(`-${process.pid}$`))
  t.same(options, {
    endpoints: ['127.0.0.1:7411'],
    handler,
    isolation: 'thread',
    queues: ['default'],
    pollWaitMs: 30_000,
    abortGraceMs: 5000,
    drainGraceMs: 30_000,
    processMetrics: true,
    keepGoing: false,
  })
})

t.test('each setting sets its runtime option', async (t) => {
  const given: [flag: string, text: string, options: object][] = [
    ['--isolation', 'inline', { isolation: 'inline' }],
    ['--queues', 'mail, images', { queues: ['mail', 'images'] }],
    ['--concurrency', '7', { concurrency: 7 }],
    ['--name', 'w-1', { name: 'w-1' }],
    ['--poll-wait', '1s', { pollWaitMs: 1000 }],
    ['--abort-grace', '0', { abortGraceMs: 0 }],
    ['--drain-grace', '2m', { drainGraceMs: 120_000 }],
    ['--give-up-after', '1h', { giveUpAfterMs: 3600_000 }],
    ['--keep-going', 'true', { keepGoing: true }],
    ['--coordinator', 'a,b:1', { endpoints: ['a', 'b:1'] }],
    ['--tls', 'true', { tls: true }],
  ]
  for (const [flag, text, options] of given) {
    t.match(optionsOf(['--handler', handler, `${flag}=${text}`]), options, flag)
  }
  t.match(optionsOf(['--handler', handler, '--keep-going']), { keepGoing: true })
  const env = { TENURE_TOKEN: 'hush', TENURE_KEEP_GOING: 'true', TENURE_GIVE_UP_AFTER: '5m' }
  t.match(optionsOf(['--handler', handler], env), {
    token: 'hush',
    keepGoing: true,
    giveUpAfterMs: 300_000,
  })
})

t.test('invalid values are rejected', async (t) => {
  const bad: [flag: string, given: string, accepted: RegExp][] = [
    ['--isolation', 'fibre', /one of thread, process, inline$/],
    ['--queues', 'mail,', /a non-empty text; separate several/],
    ['--concurrency', '0', /a whole number from 1 to 10000$/],
    ['--concurrency', '10001', /a whole number/],
    ['--name', '', /a non-empty text$/],
    ['--poll-wait', '0', /a duration .* from 1ms /],
    ['--abort-grace', '5', /a duration with a unit/],
    ['--drain-grace', '-1s', /a duration/],
    ['--give-up-after', '0', /a duration .* from 1ms /],
    ['--http-port', 'on', /or off$/],
    ['--http-host', '', /a non-empty text/],
  ]
  for (const [flag, given, accepted] of bad) {
    const message = refusal(['--exec', 'true', `${flag}=${given}`])
    t.ok(message.startsWith(`${flag} is ${JSON.stringify(given)}; it must be `), message)
    t.match(message, accepted)
  }
})

t.test('variables of the coordinator are rejected by name', async (t) => {
  for (const name of ['TENURE_DATA_DIR', 'TENURE_LEASE_DURATION', 'TENURE_TASK_ID']) {
    t.match(refusal(['--exec', 'true'], { [name]: '1' }), name)
  }
})

/** The output of a command line that only prints. */
async function said(args: string[], env: Record<string, string> = {}): Promise<string> {
  const told: string[] = []
  const output = { fd: 1, write: (text: string) => told.push(text) }
  const host = { argv: ['node', 'main.js', ...args], env, stdout: output, stderr: output }
  const unused = { on: () => {}, exit: (code: number) => t.bailout(`exit ${code}`) as never }
  await runCommand(command, { ...host, ...unused })
  return told.join('')
}

t.test('the help lists every setting with its variable, within 100 columns', async (t) => {
  const help = await said(['--help'])
  for (const [name, { kind, help: text, sources = kind.sources }] of all) {
    t.ok(text.length > 10, `${name} has a help text`)
    const isFlag = sources?.includes('flag') ?? true
    if (isFlag) t.match(help, new RegExp(`^  ${flagOf(name)}\\b`, 'm'))
    t.match(help, new RegExp(`\\b${variableOf(name)}\\b`))
  }
  t.match(help, 'tenure-worker --handler ./mail.mjs')
  t.same(
    help.split('\n').filter((line) => line.length > 100),
    [],
  )
})

t.test('--print-config shows the configuration, or rejects it', async (t) => {
  const env = { TENURE_TOKEN: 'hush', TENURE_CONCURRENCY: '3' }
  const shown = await said(['--exec', 'true', '--print-config'], env)
  t.equal(shown.trimEnd().split('\n').length, all.length)
  t.match(shown, /^exec +true +--exec$/m)
  t.match(shown, /^concurrency +3 +TENURE_CONCURRENCY$/m)
  t.match(shown, /^token +set +TENURE_TOKEN$/m)
  t.notMatch(shown, /hush/)
  t.match(
    await said(['--print-config']),
    /^tenure-worker: neither is set; set exactly one of --handler and --exec/,
  )
})
