import t from 'tap'
import { measureSoak } from '../src/soak/measure.js'

t.test(
  'under a steady load the log stays within the bound that its knobs say, and it starts again',
  async (t) => {
    const figures = await measureSoak({
      seconds: 1,
      livesPerSecond: 400,
      tell: () => {},
      replayMs: 10,
      historyBytes: 0,
      segmentBytes: 2 ** 20,
    })
    // How long things take is for a longer run on a machine that does nothing else.
    const find = (name: string) => figures.find((figure) => figure.name.startsWith(name))
    t.ok(Number(find('checkpoints made')?.value) >= 2, 'checkpoints are made')
    t.match(find('log on the disk'), { holds: true })
    t.ok(Number.isFinite(find('kill to first line')?.value))
    t.ok(Number(find('task lives')?.value) > 0)
  },
)
