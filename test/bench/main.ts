import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startCluster } from '../../server/database/embedded-postgres.ts'
import { queryRows } from '../kit/postgres-client.ts'
import { openRunFolder } from '../kit/run-folder.ts'
import { aiReq, fiveLimits, sharedLimit } from './ai-req.ts'
import { chat } from './chat.ts'
import { measureExtraction } from './files/extract.ts'
import { measureTransfer, transferHeading } from './files/transfer.ts'
import { identity } from './identity.ts'
import { knowledgeHeading, measureKnowledge } from './knowledge.ts'
import { measureUploads, uploadsHeading } from './knowledge-uploads.ts'
import { load, openPool } from './load.ts'
import { mcp } from './mcp.ts'
import { measure, type Plan } from './measure.ts'
import { measureNeighbour, neighbourHeading } from './neighbour.ts'
import { type Part, startPart } from './part.ts'
import { pages, reads } from './reads.ts'
import { type Figure, measureRealtime, realtimeHeading, realtimeRow } from './realtime.ts'
import { heading, rows, verdictLines, verdictsOf } from './report.ts'
import { rooms as roomsSuite } from './rooms.ts'
import { type Growth, measureScale, scaleHeading, scaleRow } from './scale.ts'
import { singleCaller } from './single-caller.ts'
import type { Comparison, Suite, World } from './suite.ts'
import { measureWeb, webHeading } from './web.ts'
import { type Effort, extractionHeading, measureWorst, worstHeading, worstRow } from './worst.ts'

const suites: Suite[] = [aiReq, chat, fiveLimits, sharedLimit, reads, pages, identity, roomsSuite, mcp, singleCaller]

const known = [
  ...suites.map(({ name }) => name),
  'realtime',
  'neighbour',
  'web',
  'files',
  'files-extract',
  'worst',
  'scale',
  'knowledge',
]

const usage = `npm run bench -- [suite...] [--quick] [--check] [--json] [--profile folder]
Suites: ${known.join(', ')}; all of them when none is named. With --check they are opened, not measured.
`

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const plan: Plan = options.quick
  ? { concurrencies: [10], rounds: 7, roundMs: 400, warmUpMs: 2000 }
  : { concurrencies: [1, 10, 50], rounds: 9, roundMs: 800, warmUpMs: 5000 }

const say = (text: string) => void (options.json || process.stdout.write(text))

/** Starts a database cluster, and leaves nothing behind. */
async function withCluster<Result>(work: (folder: string, databaseUrl: string) => Promise<Result>): Promise<Result> {
  await using run = await openRunFolder('svc-bench-')
  // The comparison excludes the costs of syncing and of new log segments; both parts share the settings.
  const settings = ['fsync=off', 'full_page_writes=off', 'wal_init_zero=off']
  const cluster = await startCluster(
    join(run.path, 'postgres'),
    settings.flatMap((setting) => ['-c', setting]),
  )
  try {
    return await work(run.path, cluster.url)
  } finally {
    await cluster.stop('fast')
  }
}

/** Offers a folder and a database to parts, and stops them. */
async function withParts<Result>(
  folder: string,
  databaseUrl: string,
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const parts: Part[] = []
  const start = async <Input>(file: string, input: Input) => {
    const part = await startPart(file, input, { log: join(folder, `${basename(file)}.log`), profile: options.profile })
    parts.push(part)
    return part
  }
  try {
    await mkdir(join(folder, 'data'), { recursive: true })
    return await work({ databaseUrl, folder, isCheck: options.check, start })
  } finally {
    for (const part of parts.reverse()) await part.stop()
  }
}

/** Brings up what a suite needs, which has a cluster to itself, so that it does not measure what another one left. */
const inWorld = <Result>(work: (world: World) => Promise<Result>): Promise<Result> =>
  withCluster((folder, databaseUrl) => withParts(folder, databaseUrl, work))

const run = (suite: Suite) =>
  inWorld(async (world) => {
    const contest = await suite.open(world)
    say(heading(suite))
    const comparisons: Comparison[] = []
    for await (const comparison of measure(suite, contest, plan)) {
      comparisons.push(comparison)
      say(rows(comparison))
    }
    return comparisons
  })

/** Throws where a floor does not send what the service does, or a request is not answered. */
async function check(suite: Suite, world: World): Promise<void> {
  const { subject, floor, requests } = await suite.open(world)
  for (const request of requests)
    for (const { url } of [subject, request.floor ?? floor]) {
      const pool = openPool(url, 1)
      await load(pool, request, 1, 1)
      await pool.close()
    }
  say(`${suite.name} can be measured\n`)
}

/** Checks suites in one cluster, each with a database of its own. */
const checkAll = (wanted: readonly Suite[]) =>
  withCluster(async (folder, databaseUrl) => {
    for (const suite of wanted) {
      await queryRows(databaseUrl, `create database "${suite.name}"`)
      const ownUrl = databaseUrl.replace(/\/[^/]*$/, `/${suite.name}`)
      await withParts(join(folder, suite.name), ownUrl, (world) => check(suite, world))
    }
  })

const runEfforts = (heading: string, measureEfforts: (world: World) => AsyncGenerator<Effort>) =>
  inWorld(async (world) => {
    say(heading)
    const efforts: Effort[] = []
    for await (const effort of measureEfforts(world)) {
      efforts.push(effort)
      say(worstRow(effort))
    }
    return efforts
  })

const runFigures = (heading: string, measureFigures: (world: World) => AsyncGenerator<Figure>) =>
  inWorld(async (world) => {
    say(heading)
    const figures: Figure[] = []
    for await (const figure of measureFigures(world)) {
      figures.push(figure)
      say(realtimeRow(figure))
    }
    return figures
  })

const runScale = () =>
  inWorld(async (world) => {
    say(scaleHeading)
    const growths: Growth[] = []
    for await (const growth of measureScale(world, options.quick)) {
      growths.push(growth)
      say(scaleRow(growth))
    }
    return growths
  })

const isWanted = (name: string) => names.length === 0 || names.includes(name)
const unknown = names.filter((name) => !known.includes(name))
if (options.help || unknown.length > 0) {
  process.stdout.write(usage)
  process.exit(options.help ? 0 : 2)
}

if (options.check) {
  await checkAll(suites.filter(({ name }) => isWanted(name)))
  process.exit()
}

const comparisons: Comparison[] = []
const verdicts: ReturnType<typeof verdictsOf> = []
for (const suite of suites.filter(({ name }) => isWanted(name))) {
  const measured = await run(suite)
  const judged = verdictsOf(suite, measured)
  say(verdictLines(judged))
  comparisons.push(...measured)
  verdicts.push(...judged)
}
const figures = [
  ...(isWanted('realtime') ? await runFigures(realtimeHeading, measureRealtime) : []),
  ...(isWanted('neighbour')
    ? await runFigures(neighbourHeading, (world) => measureNeighbour(world, options.quick ? 3 : 10))
    : []),
  ...(isWanted('web') ? await runFigures(webHeading, (world) => measureWeb(world, options.quick ? 3 : 5)) : []),
  ...(isWanted('knowledge')
    ? [
        ...(await runFigures(knowledgeHeading, (world) => measureKnowledge(world, options.quick ? 7 : 25))),
        ...(await runFigures(uploadsHeading, (world) => measureUploads(world, options.quick ? 3 : 7))),
      ]
    : []),
  ...(isWanted('files')
    ? await runFigures(transferHeading, (world) => measureTransfer(world, options.quick ? 5 : 15))
    : []),
]
const efforts = [
  ...(isWanted('files-extract') ? await runEfforts(extractionHeading, measureExtraction) : []),
  ...(isWanted('worst') ? await runEfforts(worstHeading, measureWorst) : []),
]
const growths = isWanted('scale') ? await runScale() : []
if (options.json)
  process.stdout.write(`${JSON.stringify({ comparisons, verdicts, figures, efforts, growths }, null, 2)}\n`)
