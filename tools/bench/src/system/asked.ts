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

/** In the order in which they are measured in a round. */
const contenders: readonly Contender[] = [
  ...tenureContenders,
  ...beanstalkdContenders,
  ...echoContenders,
  ...bullmqContenders,
  ...natsContenders,
  ...postgresContenders,
  ...rabbitmqContenders,
]

/** What is to be measured, as it was typed. */
export interface Asked {
  readonly plan: Plan
  readonly contenders: readonly Contender[]
  readonly json: boolean
  readonly out: string | undefined
}

export const usage = `pnpm bench:system [--quick] [--json] [--rounds n] [--peers name,name] [--latency] [--out directory]

  --peers    beginnings of their names: ${contenders.map(({ system }) => system).join(', ')}
  --latency  nothing but how long a submission takes under load`

/** The others take longer to start than to be measured quickly. */
const quickPeers = 'beanstalkd,echo'

export function parseAsked(args: readonly string[]): Asked {
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

/** By the beginning of a name; ours is always there. */
function choose(peers: string | undefined): readonly Contender[] {
  if (peers === undefined) return contenders
  const names = peers.split(',').map((name) => name.trim())
  const isMeant = ({ system }: Contender, name: string) => name !== '' && system.startsWith(name)
  const unknown = names.find((name) => !contenders.some((one) => isMeant(one, name)))
  if (unknown !== undefined) throw new UsageError(`--peers names "${unknown}"; there is none`)
  return contenders.filter(
    (one) => one.system === 'tenure' || names.some((name) => isMeant(one, name)),
  )
}
