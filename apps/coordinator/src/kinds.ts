import {
  formatBytes,
  formatDuration,
  formatLongestDuration,
  parseBytes,
  parseDuration,
  parseWhole,
} from './units.js'

/** A kind of value: how it is written, what is accepted, how it is shown. */
export interface Kind<T> {
  /** Stands for the value in the help. Without one the flag alone says yes. */
  readonly placeholder?: string
  /** What is accepted, to be read behind "must be". */
  readonly accepted: string
  /** As what it may stand in a JSON file. */
  readonly json: readonly ('string' | 'number' | 'boolean')[]
  /** `undefined` when the text is not acceptable. */
  parse(text: string): T | undefined
  format(value: T): string
}

export function text(placeholder: string): Kind<string> {
  return {
    placeholder: `<${placeholder}>`,
    accepted: 'a text that is not empty',
    json: ['string'],
    parse: (given) => (given === '' ? undefined : given),
    format: (value) => value,
  }
}

export function choice<const C extends string>(...choices: readonly C[]): Kind<C> {
  return {
    placeholder: `<${choices.join('|')}>`,
    accepted: `one of ${choices.join(', ')}`,
    json: ['string'],
    parse: (given) => choices.find((known) => known === given),
    format: (value) => value,
  }
}

export function yesOrNo(): Kind<boolean> {
  return {
    accepted: 'true or false',
    json: ['boolean'],
    parse: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
    format: String,
  }
}

export function whole(min: number, max: number): Kind<number> {
  return {
    placeholder: '<number>',
    accepted: `a whole number from ${min} to ${max}`,
    json: ['number', 'string'],
    parse: within(min, max, parseWhole),
    format: String,
  }
}

export function duration(min: number, max: number): Kind<number> {
  const range = `from ${formatDuration(min)} to ${formatLongestDuration(max)}`
  return {
    placeholder: '<duration>',
    accepted: `a duration with its unit (500ms, 30s, 5m, 1h, 2d) ${range}`,
    json: ['string'],
    parse: within(min, max, parseDuration),
    format: formatDuration,
  }
}

export function bytes(min: number, max: number): Kind<number> {
  const range = `from ${formatBytes(min)} to ${formatBytes(max)}`
  return {
    placeholder: '<bytes>',
    accepted: `bytes (4096, 256KiB, 64MiB, 2GiB) ${range}`,
    json: ['number', 'string'],
    parse: within(min, max, parseBytes),
    format: formatBytes,
  }
}

export function portOrOff(): Kind<number | 'off'> {
  const port = whole(0, 65_535)
  return {
    placeholder: '<port|off>',
    accepted: `${port.accepted}, or off`,
    json: port.json,
    parse: (given) => (given === 'off' ? given : port.parse(given)),
    format: String,
  }
}

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

/** Never shown, whatever it is. */
export function secret(): Kind<string> {
  return {
    placeholder: '<secret>',
    accepted: 'a text that is not empty',
    json: [],
    parse: (given) => (given === '' ? undefined : given),
    format: () => 'set',
  }
}

function within(min: number, max: number, parse: (text: string) => number | undefined) {
  return (given: string) => {
    const value = parse(given)
    return value !== undefined && value >= min && value <= max ? value : undefined
  }
}
