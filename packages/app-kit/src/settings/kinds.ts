import {
  formatBytes,
  formatDuration,
  formatLongestDuration,
  parseBytes,
  parseDuration,
  parseWhole,
} from './units.js'

/** Where a value may come from. An argument is positional. */
export type Source = 'argument' | 'flag' | 'environment' | 'file'

/** A kind of value: how to parse it, and how to show it. */
export interface Kind<T> {
  /** Stands for the value in the help. Without one, the flag takes no value and means `true`. */
  readonly placeholder?: string
  /** The accepted values, to follow the words "it must be". */
  readonly accepted: string
  /** All accepted values if they can be listed, for shell completion. */
  readonly choices?: readonly string[]
  /** The accepted JSON types in the configuration file. */
  readonly json: readonly ('string' | 'number' | 'boolean')[]
  /** The sources that such a value may come from, if restricted. */
  readonly sources?: readonly Source[]
  /** The value is never shown. */
  readonly isSecret?: boolean
  /** `undefined` if the text is invalid. */
  parse(text: string): T | undefined
  format(value: T): string
  /** Describes an invalid text, in JSON, where it may hold a secret or needs an explanation. */
  readonly describe?: ((text: string) => string) | undefined
}

export function text(placeholder: string): Kind<string> {
  return {
    placeholder: `<${placeholder}>`,
    accepted: 'a non-empty text',
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
    // The specification writes states in capitals; lower case is easier to type.
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
    accepted: `a duration with a unit (500ms, 30s, 5m, 1h, 2d) ${range}`,
    json: ['string'],
    parse: within(min, max, parseDuration),
    format: formatDuration,
  }
}

export function bytes(min: number, max: number): Kind<number> {
  const range = `from ${formatBytes(min)} to ${formatBytes(max)}`
  return {
    placeholder: '<bytes>',
    accepted: `a size in bytes (4096, 256KiB, 64MiB, 2GiB) ${range}`,
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

/** The `Host` header of a request without its port. */
export function hostName(): Kind<string> {
  return {
    placeholder: '<name>',
    accepted: 'a host name without a port',
    json: ['string'],
    parse: (given) => (/^[\w.-]+$/.test(given) ? given : undefined),
    format: (value) => value,
  }
}

/** A place in a damaged log; accepting the loss removes everything after it. */
export interface LogPlace {
  readonly segment: number
  readonly offset: number
}

/** `namedBy` is the command or component that names the place. */
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

/** Comma-separated values of one kind. */
export function listOf<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    placeholder: `${kind.placeholder}[,…]`,
    accepted: `${kind.accepted}; separate several with commas`,
    json: kind.json,
    parse: (given) => {
      const values = given.split(',').map((part) => kind.parse(part.trim()))
      return values.includes(undefined) ? undefined : (values as T[])
    },
    format: (values) => values.map((value) => kind.format(value)).join(','),
    describe: kind.describe,
  }
}

/** Values of one kind, each an argument. */
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

/** Never shown, and not allowed as a flag, which other users can see, or in the configuration file. */
export function secret(): Kind<string> {
  return {
    placeholder: '<secret>',
    accepted: 'a non-empty text',
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
