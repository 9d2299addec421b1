import { load, openPool } from './load.ts'
import type { Part } from './part.ts'
import type { BenchRequest, Comparison, Contest, Figures, Suite } from './suite.ts'

export interface Plan {
  concurrencies: readonly number[]
  rounds: number
  /** Milliseconds of one round of one part. */
  roundMs: number
  warmUpMs: number
}

/** Measures both parts in turns, so that a slow moment of the machine hits both. */
export async function* measure(
  { name: suite, concurrencies }: Suite,
  { subject, requests, floor: usualFloor }: Contest,
  plan: Plan,
): AsyncGenerator<Comparison> {
  const warmUp = async (floor: Part, request: BenchRequest, concurrency: number) => {
    for (const part of [subject, floor]) await round(part, request, concurrency, plan.warmUpMs)
  }
  for (const request of requests) {
    const { floor = usualFloor } = request
    await warmUp(floor, request, 10)
    for (const concurrency of concurrencies ?? plan.concurrencies) {
      // A collection that is forced while nothing is under way drops compiled code; those under load keep it. So both warm up again.
      const [before] = await Promise.all([subject.heap(), floor.heap()])
      await warmUp(floor, request, concurrency)
      const seen: Record<'subject' | 'floor', Figures[]> = { subject: [], floor: [] }
      for (let index = 0; index < plan.rounds; index++) {
        seen.subject.push(await round(subject, request, concurrency, plan.roundMs))
        seen.floor.push(await round(floor, request, concurrency, plan.roundMs))
      }
      const medians = { subject: medianOf(seen.subject), floor: medianOf(seen.floor) }
      yield {
        suite,
        request: request.name,
        concurrency,
        ...medians,
        ratio: median(
          seen.subject.map(({ perSecond }, index) => perSecond / (seen.floor[index]?.perSecond ?? Number.NaN)),
        ),
        subjectPeak: (await subject.usage()).peak,
        floorPeak: (await floor.usage()).peak,
        heap: { before, after: await subject.heap() },
      }
    }
  }
}

async function round(part: Part, request: BenchRequest, concurrency: number, ms: number): Promise<Figures> {
  const pool = openPool(part.url, concurrency)
  await load(pool, request, concurrency, 50)
  const before = await part.usage()
  const { requests, seconds, times, firsts } = await load(pool, request, concurrency, ms)
  const after = await part.usage()
  await pool.close()
  return {
    perSecond: requests / seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    first: quantile(firsts, 0.5),
    cpuPerRequest: (after.cpu - before.cpu) / requests,
  }
}

const quantile = (sorted: readonly number[], at: number) => sorted[Math.floor((sorted.length - 1) * at)] ?? Number.NaN

const median = (values: readonly number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )

function medianOf(rounds: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => median(rounds.map((figures) => figures[key]))
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    first: of('first'),
    cpuPerRequest: of('cpuPerRequest'),
  }
}
