export { completionVerb } from './completion/verb.js'
export {
  type KeyPair,
  type NamedFile,
  readAuthority,
  readKeyPair,
} from './connection/certificates.js'
export { connectionSettings } from './connection/connection-settings.js'
export { type ConnectionConfiguration, toLinkOptions } from './connection/link-options.js'
export { checkExclusive, checkToken, readToken } from './connection/token.js'
export type { Host, Output, StopSignal } from './host.js'
export { exitCodes } from './process/exit-codes.js'
export {
  type Logger,
  type LoggingConfiguration,
  loggingSettings,
  openLogger,
} from './process/logger.js'
export { RateLimitedLines } from './process/rate-limited-lines.js'
export { awaitStopSignal, type Running, runService, type Service } from './process/service.js'
export { readVersions, type Versions } from './process/versions.js'
export { ConfigError } from './settings/given-value.js'
export type { Source } from './settings/kinds.js'
export {
  bytes,
  choice,
  duration,
  hostName,
  type Kind,
  type LogPlace,
  listOf,
  logPlace,
  portOrOff,
  secret,
  text,
  whole,
  yesOrNo,
} from './settings/kinds.js'
export { controlCharacters, printable, toEscape } from './settings/printable.js'
export {
  argument,
  byName,
  flagOf,
  type Setting,
  type SettingName,
  type Settings,
  type SettingsByName,
  setting,
  severalArguments,
  type ValuesOf,
  variableOf,
} from './settings/settings.js'
export { formatBytes, formatDuration, parseDuration } from './settings/units.js'
export { configFileSettings } from './sources/config-file.js'
export { type Configuration, type Origins, withSettingNames } from './sources/configuration.js'
export type { Environment } from './sources/environment.js'
export { readJsonObject, readSecretText, readText } from './sources/text-file.js'
export { type Command, defineCommand, type Example, type Run } from './verbs/command.js'
export { wrap } from './verbs/help.js'
export { configure, runCommand } from './verbs/run-command.js'
export {
  defineVerb,
  loadVerbs,
  type Noun,
  type Verb,
  type Verbs,
  type VerbTable,
} from './verbs/verb.js'
export { type Parsed, parseCommand, runVerbs } from './verbs/verbs.js'
