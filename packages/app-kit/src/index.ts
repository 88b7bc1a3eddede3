export { type KeyPair, type NamedFile, readAuthority, readKeyPair } from './certificates.js'
export { type Command, defineCommand, type Example, type Run } from './command.js'
export { completionVerb } from './completion/verb.js'
export { ConfigError } from './config-error.js'
export { configFileSettings } from './config-file-setting.js'
export type { Configuration, Origins } from './configuration.js'
export { connectionSettings } from './connection-settings.js'
export { exitCodes, inOwnWords } from './endings.js'
export type { Environment } from './environment.js'
export type { Host, Output, StopSignal } from './host.js'
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
} from './kinds.js'
export type { Later } from './later.js'
export { type ConnectionConfiguration, toLinkOptions } from './link-options.js'
export { type Logger, type LoggingConfiguration, loggingSettings, openLogger } from './logger.js'
export { wrap } from './paragraphs.js'
export { printable, terminalCommands, toEscape } from './printable.js'
export { RationedLines } from './rationed-lines.js'
export { configure, runCommand } from './run-command.js'
export { type Running, runService, type Service } from './service.js'
export {
  argument,
  flagOf,
  type Setting,
  setting,
  severalArguments,
  variableOf,
} from './setting.js'
export {
  byName,
  type SettingName,
  type Settings,
  type SettingsByName,
  type ValuesOf,
} from './settings.js'
export { awaitStopSignal } from './signals.js'
export type { Source } from './source.js'
export { readJsonObject, readSecretText, readText } from './text-file.js'
export { checkToken, readToken } from './token.js'
export { formatBytes, formatDuration, parseDuration } from './units.js'
export { defineVerb, loadVerbs, type Noun, type Verb, type Verbs, type VerbTable } from './verb.js'
export { type Parsed, parseCommand, runVerbs } from './verbs.js'
export { readVersions, type Versions } from './versions.js'
