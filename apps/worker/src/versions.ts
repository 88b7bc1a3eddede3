import { readVersions } from '@tenure/app-kit'

export const versions = readVersions(new URL('../../package.json', import.meta.url))
