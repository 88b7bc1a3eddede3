import type { Contender } from './contender.js'
import { beanstalkdContenders } from './contenders/beanstalkd.js'
import { bullmqContenders } from './contenders/bullmq.js'
import { echoContenders } from './contenders/echo.js'
import { natsContenders } from './contenders/nats.js'
import { postgresContenders } from './contenders/postgres.js'
import { rabbitmqContenders } from './contenders/rabbitmq.js'
import { tenureContenders } from './contenders/tenure.js'

/** In the order in which they are measured in a round. */
export const contenders: readonly Contender[] = [
  ...tenureContenders,
  ...beanstalkdContenders,
  ...echoContenders,
  ...bullmqContenders,
  ...natsContenders,
  ...postgresContenders,
  ...rabbitmqContenders,
]
