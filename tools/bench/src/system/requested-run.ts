import { parseOptions, parseWhole, UsageError } from '@tenure/harness'
import type { Contender } from './contender.js'
import { beanstalkdContenders } from './contenders/beanstalkd.js'
import { bullmqContenders } from './contenders/bullmq.js'
import { echoContenders } from './contenders/echo.js'
import { natsContenders } from './contenders/nats.js'
import { postgresContenders } from './contenders/postgres.js'
import { rabbitmqContenders } from './contenders/rabbitmq.js'
import { tenureContenders } from './contenders/tenure.js'
import { fullPlan, type Plan, quickPlan } from './plan.js'

/** The order in which they are measured in a round. */
const contenders: readonly Contender[] = [
  ...tenureContenders,
  ...beanstalkdContenders,
  ...echoContenders,
  ...bullmqContenders,
  ...natsContenders,
  ...postgresContenders,
  ...rabbitmqContenders,
]

/** The measurements that the command line selects. */
export interface RequestedRun {
  readonly plan: Plan
  readonly contenders: readonly Contender[]
  readonly json: boolean
  readonly out: string | undefined
}

export const usage = `pnpm bench:system [--quick] [--json] [--rounds n] [--peers name,name] [--latency] [--out directory]

  --quick    short measurements of beanstalkd and a bare echo
  --json     print the results as JSON, one line each
  --rounds   number of rounds; each figure is their median
  --peers    names of peers, or their beginnings: ${contenders.map(({ system }) => system).join(', ')}
  --latency  measure only the latency of submissions under load
  --out      directory for the results and plots`

/** The other peers take too long to start for a quick run. */
const quickPeers = 'beanstalkd,echo'

export function parseRun(args: readonly string[]): RequestedRun {
  const typed = parseOptions(args, {
    quick: 'boolean',
    json: 'boolean',
    rounds: 'string',
    peers: 'string',
    latency: 'boolean',
    out: 'string',
  })
  const {
    quick = false,
    json = false,
    latency: isOfLatency = false,
    out,
    peers = quick ? quickPeers : undefined,
  } = typed
  const plan = quick ? quickPlan : fullPlan
  const rounds = typed.rounds === undefined ? plan.rounds : parseWhole('rounds', typed.rounds)
  return { plan: { ...plan, rounds, isOfLatency }, contenders: choose(peers), json, out }
}

/** Selects contenders by the beginning of their names; Tenure is always included. */
function choose(peers: string | undefined): readonly Contender[] {
  if (peers === undefined) return contenders
  const names = peers.split(',').map((name) => name.trim())
  const isMeant = ({ system }: Contender, name: string) => name !== '' && system.startsWith(name)
  const unknown = names.find((name) => !contenders.some((one) => isMeant(one, name)))
  if (unknown !== undefined) throw new UsageError(`--peers: no peer is called "${unknown}"`)
  return contenders.filter(
    (one) => one.system === 'tenure' || names.some((name) => isMeant(one, name)),
  )
}
