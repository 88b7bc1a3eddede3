import { type Kind, whole } from '@tenure/app-kit'

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
