import type { Contender } from './contender.js'
import { beanstalkdContenders } from './contenders/beanstalkd.js'
import { echoContenders } from './contenders/echo.js'
import { tenureContenders } from './contenders/tenure.js'

/** In the order in which they are measured in a round. */
export const contenders: readonly Contender[] = [
  ...tenureContenders,
  ...beanstalkdContenders,
  ...echoContenders,
]
