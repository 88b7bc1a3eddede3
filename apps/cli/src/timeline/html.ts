import { showDuration, showTime } from '../terminal/format.js'
import { type LaneAttempt, lastSignOf, outcomeOf } from './lane.js'
import { Markup, markup } from './markup.js'
import { drawPicture } from './svg.js'
import { styleOf, type Theme } from './theme.js'
import type { Timeline } from './timeline.js'
import { count, describeBeats, describeTitle, outcomeWords } from './words.js'

/** A page with the picture and a table of its attempts. Has no scripts and loads nothing. */
export function drawHtml(timeline: Timeline, theme: Theme): string {
  const title = describeTitle(timeline)
  const attempts = timeline.lanes.flatMap((lane) => lane.attempts)
  attempts.sort((a, b) => a.leaseId - b.leaseId)
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
${styleOf(theme)}
${new Markup(pageRules(theme))}
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<div class="picture">
${drawPicture(timeline)}
</div>
<details>
<summary>${count(attempts.length, 'attempt')} with a bar of their own, as a table</summary>
<div class="table"><table>
<thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${attempts.map(drawRow)}</tbody>
</table></div>
</details>
</main>
</body>
</html>
`
  return page.text
}

const heads = [
  ...['task', 'attempt', 'lease', 'worker', 'granted', 'heartbeats'],
  ...['last sign of life', 'ended', 'took', 'outcome', 'late report', 'reason'],
]

function drawRow(attempt: LaneAttempt): Markup {
  const { taskId, leaseId, workerId, grantedAt, pulse, end, lateReport } = attempt
  const lastSign = lastSignOf(attempt)
  const cells = [
    ...[taskId, attempt.attempt, leaseId, workerId, showTime(grantedAt), describeBeats(pulse)],
    ...[
      lastSign === undefined ? 'removed' : showTime(lastSign),
      end && showTime(end.at),
      end && showDuration(end.at - grantedAt),
    ],
    outcomeWords[outcomeOf(attempt)],
    lateReport && `CANCELLED ${showTime(lateReport.at)}`,
    end?.reason,
  ]
  return markup`<tr>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>
`
}

const schemes: Readonly<Record<Theme, string>> = {
  auto: 'light dark',
  light: 'light',
  dark: 'dark',
}

function pageRules(theme: Theme): string {
  return `:root{color-scheme:${schemes[theme]}}
body{margin:0;background:var(--bg);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1200px;margin:0 auto;padding:20px 0}
h1{font-size:20px;margin:0 24px}
.picture,.table{overflow-x:auto}
.picture svg{display:block;max-width:100%;height:auto;min-width:760px}
details{margin:16px 24px} summary{cursor:pointer;font-weight:600}
table{border-collapse:collapse;font-size:12px;margin-top:8px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:3px 10px;border-bottom:1px solid var(--line);white-space:nowrap;max-width:32em;overflow:hidden;text-overflow:ellipsis}
tbody tr:hover{background:var(--band)}`
}
