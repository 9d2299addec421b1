import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startCluster } from '../../server/embedded-postgres.ts'
import { aiReq } from './ai-req.ts'
import { identity } from './identity.ts'
import { measure, type Plan } from './measure.ts'
import { type Part, startPart } from './part.ts'
import { reads } from './reads.ts'
import { heading, rows, verdictLines, verdictsOf } from './report.ts'
import type { Comparison, Suite } from './suite.ts'

const suites: Suite[] = [aiReq, reads, identity]

const usage = `npm run bench -- [suite...] [--quick] [--json] [--profile folder]
Suites: ${suites.map(({ name }) => name).join(', ')}; all of them when none is named.
`

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const plan: Plan = options.quick
  ? { concurrencies: [10], rounds: 7, roundMs: 400, warmUpMs: 2000 }
  : { concurrencies: [1, 10, 50], rounds: 9, roundMs: 800, warmUpMs: 5000 }

const say = (text: string) => void (options.json || process.stdout.write(text))

/** Brings up what a suite needs, measures, and leaves nothing behind. */
async function run(suite: Suite): Promise<Comparison[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const parts: Part[] = []
  // What the disk takes to sync is not what is compared; both parts share the settings.
  const cluster = await startCluster(join(folder, 'postgres'), ['-c', 'fsync=off', '-c', 'full_page_writes=off'])
  const start = async <Input>(file: string, input: Input) => {
    const part = await startPart(file, input, { log: join(folder, `${file}.log`), profile: options.profile })
    parts.push(part)
    return part
  }
  try {
    await mkdir(join(folder, 'data'))
    const contest = await suite.open({ databaseUrl: cluster.url, folder, start })
    say(heading(suite))
    const comparisons: Comparison[] = []
    for await (const comparison of measure(suite, contest, plan)) {
      comparisons.push(comparison)
      say(rows(comparison))
    }
    return comparisons
  } finally {
    for (const part of parts.reverse()) await part.stop()
    await cluster.stop('fast')
    await rm(folder, { recursive: true, force: true })
  }
}

const unknown = names.filter((name) => suites.every((suite) => suite.name !== name))
if (options.help || unknown.length > 0) {
  process.stdout.write(usage)
  process.exit(options.help ? 0 : 2)
}

const comparisons: Comparison[] = []
const verdicts: ReturnType<typeof verdictsOf> = []
for (const suite of suites.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const measured = await run(suite)
  const judged = verdictsOf(suite, measured)
  say(verdictLines(judged))
  comparisons.push(...measured)
  verdicts.push(...judged)
}
if (options.json) process.stdout.write(`${JSON.stringify({ comparisons, verdicts }, null, 2)}\n`)
