import { text } from './kinds.js'
import { setting } from './setting.js'

/** With this group in its table a command reads a file of settings. */
export const configFileSettings = {
  'Configuration file': {
    config: setting(text('file'), {
      help: 'A JSON file with settings, by their names here in camelCase. Paths are relative to the working directory, in the file, too.',
      sources: ['flag', 'environment'],
    }),
  },
} as const
