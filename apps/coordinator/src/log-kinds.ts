import { type Kind, parseWhole, whole } from '@tenure/app-kit'

/** The place in a damaged log behind which everything is given up. */
export interface Place {
  readonly segment: number
  readonly offset: number
}

export function place(): Kind<Place> {
  return {
    placeholder: '<segment:offset>',
    accepted: 'the place that the refusal named, as segment:offset',
    json: ['string'],
    parse: (given) => {
      const [, segment = '', offset = ''] = /^(\d+):(\d+)$/.exec(given) ?? []
      const at = { segment: parseWhole(segment), offset: parseWhole(offset) }
      return at.segment === undefined || at.offset === undefined ? undefined : (at as Place)
    },
    format: ({ segment, offset }) => `${segment}:${offset}`,
  }
}

export function trueOrLsn(): Kind<true | number> {
  const lsn = whole(1, Number.MAX_SAFE_INTEGER)
  return {
    placeholder: '<true|lsn>',
    accepted: `true, or the next LSN: ${lsn.accepted}`,
    json: ['boolean', 'number', 'string'],
    parse: (given) => (given === 'true' ? true : lsn.parse(given)),
    format: String,
  }
}
