import type { Kind } from '@tenure/app-kit'

/** A part of something, written `1/3` or `0.25`. */
export function share(most: number): Kind<number> {
  return {
    placeholder: '<share>',
    accepted: `a share (1/3, 0.25), more than 0 and at most ${most}`,
    json: ['string', 'number'],
    parse: (given) => {
      const value = parseShare(given)
      return value > 0 && value <= most ? value : undefined
    },
    format: showShare,
  }
}

/** As people say it, where it is a simple one. */
export function showShare(value: number): string {
  const parts = Math.round(1 / value)
  return 1 / parts === value ? `1/${parts}` : String(value)
}

function parseShare(text: string): number {
  const [, amount, parts] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(text) ?? []
  return amount === undefined ? Number.NaN : Number(amount) / Number(parts ?? 1)
}
