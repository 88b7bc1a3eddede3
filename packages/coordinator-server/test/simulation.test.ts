import t from 'tap'
import { Simulation } from './simulation.js'

t.test(
  'whatever was answered stays true, with power lost at every disk call of a run',
  async (t) => {
    const calm = new Simulation(1)
    await calm.run()
    t.equal(calm.crashes, 0)
    const { diskCalls } = calm
    let crashes = 0
    for (let call = 0; call < diskCalls; call++) {
      for (const when of ['before', 'after'] as const) {
        const simulation = new Simulation(1)
        simulation.isRepeated = true
        simulation.crashAt(call, when)
        await simulation.run()
        crashes += simulation.crashes
      }
    }
    t.equal(crashes, 2 * diskCalls)
    t.comment(`${diskCalls} disk calls, power lost before and after each: ${crashes} crashes`)
  },
)

for (const seed of [2, 3]) {
  t.test(
    `whatever was answered stays true, with power lost after every step, seed ${seed}`,
    async (t) => {
      const calm = new Simulation(seed, 'slow')
      const steps = await calm.run()
      t.equal(calm.crashes, 0)
      let crashes = 0
      for (let step = 0; step < steps; step++) {
        const simulation = new Simulation(seed, 'slow')
        simulation.isRepeated = true
        await simulation.run(step)
        crashes += simulation.crashes
      }
      t.equal(crashes, steps)
      t.comment(`${steps} steps on a slow disk, power lost after each`)
    },
  )
}

t.test(
  'the registry forgotten at random moments: no outcome is another one than may be',
  async (t) => {
    let steps = 0
    for (let seed = 10; seed < 30; seed++) {
      const simulation = new Simulation(seed, 'slow')
      simulation.registryLoss = 0.3
      steps += await simulation.run(seed % 2 === 0 ? 40 + seed : undefined)
      t.equal(simulation.crashes, seed % 2 === 0 ? 1 : 0)
    }
    t.comment(`${steps} steps, the registry forgotten after about every third`)
  },
)
