import { exitCodes } from '../process/endings.js'
import { choice } from '../settings/kinds.js'
import { argument } from '../settings/settings.js'
import { defineVerb, type Verb, type Verbs } from '../verbs/verb.js'
import { bashCompletion } from './bash.js'
import { fishCompletion } from './fish.js'
import { placesOf } from './places.js'
import { zshCompletion } from './zsh.js'

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** A verb that writes what a shell needs to complete verbs and flags, made from their own tables. */
export function completionVerb(name: string, program: () => Verbs): Verb {
  return defineVerb({
    summary: 'Writes a script that completes verbs and flags in a shell.',
    examples: [
      { line: `source <(${name} completion bash)`, help: 'In ~/.bashrc.' },
      {
        line: `${name} completion zsh > "\${fpath[1]}/_${name}"`,
        help: 'Once, and again with a new version. Then open a new shell.',
      },
      {
        line: `${name} completion fish > ~/.config/fish/completions/${name}.fish`,
        help: 'The same for fish.',
      },
    ],
    settings: {
      'Which shell': { shell: argument(choice('bash', 'zsh', 'fish'), { help: 'Yours.' }) },
    },
    prepare({ values: { shell } }) {
      return async ({ stdout }) => {
        stdout.write(scripts[shell](name, await placesOf(program())))
        return exitCodes.done
      }
    },
  }) as Verb
}
