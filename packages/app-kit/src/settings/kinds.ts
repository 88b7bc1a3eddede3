import {
  formatBytes,
  formatDuration,
  formatLongestDuration,
  parseBytes,
  parseDuration,
  parseWhole,
} from './units.js'

/** Where a value may come from. An argument is a word without a flag, told by its place. */
export type Source = 'argument' | 'flag' | 'environment' | 'file'

/** A kind of value: how it is written, what is accepted, how it is shown. */
export interface Kind<T> {
  /** Stands for the value in the help. Without one the flag alone says yes. */
  readonly placeholder?: string
  /** What is accepted, to be read behind "must be". */
  readonly accepted: string
  /** All that there is to choose from, where that is known: for the completion of a shell. */
  readonly choices?: readonly string[]
  /** As what it may stand in a JSON file. */
  readonly json: readonly ('string' | 'number' | 'boolean')[]
  /** Where such a value may stand, if that is not the same for all kinds. */
  readonly sources?: readonly Source[]
  /** Nobody but the command itself is to know it. */
  readonly isSecret?: boolean
  /** `undefined` when the text is not acceptable. */
  parse(text: string): T | undefined
  format(value: T): string
  /** What is shown of a text that is not acceptable, where that may hold a secret. */
  readonly redact?: ((text: string) => string) | undefined
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
    choices,
    json: ['string'],
    // Words of the specification are in capitals, which nobody likes to type.
    parse: (given) => choices.find((known) => known === given || known.toLowerCase() === given),
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

/** As it stands in the `Host` of a request, but for the port. */
export function hostName(): Kind<string> {
  return {
    placeholder: '<name>',
    accepted: 'a host name without a port',
    json: ['string'],
    parse: (given) => (/^[\w.-]+$/.test(given) ? given : undefined),
    format: (value) => value,
  }
}

/** The place in a damaged log behind which everything is given up. */
export interface LogPlace {
  readonly segment: number
  readonly offset: number
}

/** `namedBy` says who has told the place. */
export function logPlace(namedBy: string): Kind<LogPlace> {
  return {
    placeholder: '<segment:offset>',
    accepted: `the place that ${namedBy} named, as segment:offset`,
    json: ['string'],
    parse: (given) => {
      const [, first = '', second = ''] = /^(\d+):(\d+)$/.exec(given) ?? []
      const [segment, offset] = [parseWhole(first), parseWhole(second)]
      return segment === undefined || offset === undefined ? undefined : { segment, offset }
    },
    format: ({ segment, offset }) => `${segment}:${offset}`,
  }
}

/** Several of a kind, with commas between them. */
export function listOf<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    placeholder: `${kind.placeholder}[,…]`,
    accepted: `${kind.accepted}; or several with commas between them`,
    json: kind.json,
    parse: (given) => {
      const values = given.split(',').map((part) => kind.parse(part.trim()))
      return values.includes(undefined) ? undefined : (values as T[])
    },
    format: (values) => values.map((value) => kind.format(value)).join(','),
    redact: kind.redact,
  }
}

/** Several of a kind, each a word of its own. */
export function several<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    ...kind,
    parse: (given) => {
      const value = kind.parse(given)
      return value === undefined ? undefined : [value]
    },
    format: (values) => values.map((value) => kind.format(value)).join(' '),
  }
}

/** Never shown, whatever it is; and no flag, which others can see, nor in a file that is not about it alone. */
export function secret(): Kind<string> {
  return {
    placeholder: '<secret>',
    accepted: 'a text that is not empty',
    json: [],
    sources: ['environment'],
    isSecret: true,
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
