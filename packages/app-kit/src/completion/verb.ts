import { exitCodes } from '../process/exit-codes.js'
import { choice } from '../settings/kinds.js'
import { argument } from '../settings/settings.js'
import { defineVerb, type Verb, type Verbs } from '../verbs/verb.js'
import { bashCompletion } from './bash.js'
import { commandNodes } from './command-tree.js'
import { fishCompletion } from './fish.js'
import { zshCompletion } from './zsh.js'

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** A ready verb that prints a completion script, generated from the tables of settings. */
export function completionVerb(name: string, program: () => Verbs): Verb {
  return defineVerb({
    summary: 'Print a shell completion script.',
    examples: [
      {
        line: `source <(${name} completion bash)`,
        help: 'Load completion for bash; put this line into ~/.bashrc.',
      },
      {
        line: `${name} completion zsh > "\${fpath[1]}/_${name}"`,
        help: 'Install completion for zsh, then open a new shell; repeat after an upgrade.',
      },
      {
        line: `${name} completion fish > ~/.config/fish/completions/${name}.fish`,
        help: 'Install completion for fish; repeat after an upgrade.',
      },
    ],
    settings: {
      Arguments: {
        shell: argument(choice('bash', 'zsh', 'fish'), {
          help: 'Shell that the script is for: bash, zsh or fish.',
        }),
      },
    },
    prepare({ values: { shell } }) {
      return async ({ stdout }) => {
        stdout.write(scripts[shell](name, await commandNodes(program())))
        return exitCodes.done
      }
    },
  }) as Verb
}
