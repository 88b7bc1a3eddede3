import type { Setting } from '@tenure/app-kit'
import type { Random } from '@tenure/testing'
import { text } from '../corpus/scalars.js'

const numbers = [
  ...[
    '0',
    '1',
    '-1',
    '1.5',
    '1e9',
    '0x10',
    '٣',
    ' 1',
    '65535',
    '65536',
    '9007199254740993',
    '7411',
  ],
]

/** Sample values by the placeholder in the help. */
const byPlaceholder: readonly (readonly [RegExp, readonly string[]])[] = [
  [/number|lsn/, numbers],
  [/port/, [...numbers, 'off', 'OFF']],
  [
    /duration/,
    ['1s', '0.5ms', '10ms', '1h', '400000d', '1 s', '0', '1', '1e3s', '99999999999999d'],
  ],
  [/bytes/, ['1KiB', '64MiB', '4GiB', '1TiB', '1kb', '0', '4096', '0.5B', '9999999TiB', '1.5KiB']],
  [
    /file/,
    [
      ...['file:///none.mjs', 'file:', 'file://[', 'file:none%', 'file:///%00', './none.mjs'],
      ...['/dev/null', '/', '{config-file}', '{token-file}', 'file://{config-file}'],
    ],
  ],
  [
    /host|address|endpoint/,
    [
      ...['127.0.0.1', '0.0.0.0', '::1', '::', 'localhost', '[::1]:7411', 'host:0', ',', ':7411'],
      ...['[', '[::1', 'a:b:c', 'host:7411,other', 'http://host:1', '127.1', 'ü', 'host:99999'],
    ],
  ],
  [/segment/, ['1:512', '1:', ':1', '99999999999999999999:1', '1:1:1']],
  [/queue|name/, ['default,mail', 'x'.repeat(70), ',', 'a,,b', 'ü'.repeat(64), 'q,'.repeat(20)]],
  [/command/, ['cat', 'node --version', ' ', '$(x)', "'"]],
]

const words = [
  ...['', '0', '1', '-1', 'true', 'false', 'TRUE', 'off', 'always', 'none', 'thread', 'inline'],
  ...['__proto__', 'constructor', '--port', '-', '--', '\u001b[2J', 'a\nb', 'x'.repeat(300)],
]

/** A value for a setting: mostly of its kind, sometimes anything. */
export function anyText(random: Random, { kind, fallback }: Setting<unknown>): string {
  if (random.chance(0.3) && fallback !== undefined) return kind.format(fallback)
  if (random.chance(0.3) && kind.choices !== undefined) return random.pick(kind.choices)
  const within = /from (\S+) to (\S+)/.exec(kind.accepted)
  if (random.chance(0.3) && within !== null) return random.pick([within[1]!, within[2]!])
  const [, known] = byPlaceholder.find(([called]) => called.test(kind.placeholder ?? '')) ?? [
    /./,
    words,
  ]
  if (random.chance(0.7)) return random.pick(known)
  return random.chance(0.9) ? random.pick(words) : text(random, 0, 300)
}

/** A value for a setting, as JSON. */
export function anyJson(random: Random, setting: Setting<unknown>): unknown {
  if (random.chance(0.6)) return anyText(random, setting)
  return random.pick([null, true, false, 0, 1, -1, 0.5, 1e300, 7411, [], {}, ['a'], { a: 1 }])
}
