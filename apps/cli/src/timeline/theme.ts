import { Markup } from './markup.js'

export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** The colours of Okabe and Ito, which colour-blind readers can tell apart; lighter in the dark theme. */
const light = {
  bg: '#ffffff',
  ink: '#1b1f24',
  muted: '#57606a',
  line: '#d8dee4',
  band: '#f4f6f8',
  completed: '#009e73',
  failed: '#d55e00',
  expired: '#e69f00',
  dead: '#cc79a7',
  running: '#56b4e9',
  restart: '#0072b2',
}

const dark: typeof light = {
  bg: '#0f1419',
  ink: '#e6edf3',
  muted: '#9aa5b1',
  line: '#2b333c',
  band: '#161d24',
  completed: '#22b08a',
  failed: '#ee7d38',
  expired: '#f0b428',
  dead: '#d992b9',
  running: '#6cc0f0',
  restart: '#f0e442',
}

function variablesOf(colours: typeof light): string {
  return Object.entries(colours)
    .map(([name, colour]) => `--${name}:${colour}`)
    .join(';')
}

/** The CSS of a theme; `auto` follows the preference of the viewer. */
export function styleOf(theme: Theme): Markup {
  const base = `:root{${variablesOf(theme === 'dark' ? dark : light)}}`
  const preferred = `@media (prefers-color-scheme:dark){:root{${variablesOf(dark)}}}`
  return new Markup(theme === 'auto' ? `${base}\n${preferred}\n${rules}` : `${base}\n${rules}`)
}

/** The target of a `<use>` is styled by class alone, since it is not within `.timeline`. */
const rules = `.timeline{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.timeline .back{fill:var(--bg)} .timeline .band{fill:var(--band)}
.timeline .title{font-size:18px;font-weight:600} .timeline .small{font-size:12px;fill:var(--muted)}
.timeline .axis{font-size:11px;fill:var(--muted);font-variant-numeric:tabular-nums} .timeline .grid{stroke:var(--line)}
.timeline .name{font-size:12px;font-weight:600} .timeline .note{font-size:11px;font-weight:400;fill:var(--muted)}
.timeline .inside{fill:#14171a;pointer-events:none} .timeline .marks{pointer-events:none}
.timeline .epoch{font-size:11px;font-weight:600;fill:var(--restart)} .timeline .restart{stroke:var(--restart);stroke-width:1.5;stroke-dasharray:6 3}
.timeline .completed{--own:var(--completed)} .timeline .failed{--own:var(--failed)} .timeline .expired{--own:var(--expired)}
.timeline .dead{--own:var(--dead)} .timeline .running{--own:var(--running)} .timeline .late{--own:var(--ink)} .timeline .counted{--own:var(--muted)}
.timeline .bar,.timeline .strip{fill:var(--own)} .timeline .edge{fill:none;stroke:var(--own)}
.timeline .beat{stroke:#14171a;stroke-width:1.5;opacity:.8} .timeline .stripes{stroke:#14171a;stroke-width:1.6;opacity:.38}
.mark{fill:var(--own);stroke:var(--bg);stroke-width:1.2} .time{fill:var(--ink)} .sign{fill:none;stroke:#14171a;stroke-width:1.5}
.hollow{fill:var(--bg);stroke:var(--ink);stroke-width:1.6}
.timeline .wait{stroke:var(--muted);stroke-width:1.5;fill:none} .timeline .later{stroke-dasharray:1.5 3}
.timeline .beyond{stroke:var(--ink);stroke-width:1.3;stroke-dasharray:4 2.5;fill:none}
.timeline .twice{fill:url(#twice)} .timeline .twice-line{stroke:var(--ink);stroke-width:1;opacity:.45}
.timeline .attempt:hover .bar,.timeline .attempt:hover .edge{stroke:var(--ink);stroke-width:2}`
