import { type Kind, parseWhole } from '@tenure/app-kit'
import type { AcceptedLoss } from '@tenure/wal'

/** The place in a damaged log behind which everything is given up. */
export function lossPlace(): Kind<AcceptedLoss> {
  return {
    placeholder: '<segment:offset>',
    accepted: 'the place that tenure log doctor names, as segment:offset',
    json: ['string'],
    parse: (given) => {
      const [, first = '', second = ''] = /^(\d+):(\d+)$/.exec(given) ?? []
      const [segment, offset] = [parseWhole(first), parseWhole(second)]
      return segment === undefined || offset === undefined ? undefined : { segment, offset }
    },
    format: ({ segment, offset }) => `${segment}:${offset}`,
  }
}
