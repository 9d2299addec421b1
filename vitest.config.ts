import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ShortReporter } from './test/kit/short-reporter.ts'

/** Tests that `npm run soak` repeats for minutes, because chance decides them, or runs in full, because that takes minutes. */
const soak = [
  'test/ai/{client-libraries,obeyed,failures/faults,stream-fuzz}.test.ts',
  'test/json-api/fuzz.test.ts',
  'test/json-api/conformance/{conformance,own}.test.ts',
  'test/json-api/openapi/answers.test.ts',
  'test/process/inputs/worst-documents.test.ts',
]

/** Tests that are too long for `npm test`, and run in the soak alone. */
const soakOnly = [
  'test/cli/bench.test.ts',
  'test/process/{command-lines,frozen-replica,kills,lost-connection,older-front-end,rolling-stop,stop,upgrade}.test.ts',
  'test/process/deployment/{deploy,image}.test.ts',
  'test/rooms/attachments/kills.test.ts',
  'test/realtime/chaos.test.ts',
  'test/web/{rooms-connection,rooms-crowd,rooms-recovery,rooms-search}.test.ts',
  'test/ai/{agents,stored-files-memory,stream-fuzz-surfaces,limits/limit-history,limits/leases}.test.ts',
  'test/json-api/{differential,openapi/linters}.test.ts',
  'test/rooms/ai/{kills,passing-events}.test.ts',
]

/** Tests that take longest: they begin first, so that at the end no worker goes on alone. */
const longest = [
  'web/views',
  'web/admin-operation',
  'web/admin-models',
  'web/admin-people',
  'web/chat-list',
  'web/chat-answers',
  'web/settings',
  'web/rooms',
  'web/rooms-reading',
  'web/rooms-members',
  'web/pages',
  'web/connect',
  'web/chat-surroundings',
  'client/calls',
  'client/rooms',
  'cli/process',
  'process/backup',
  'process/start',
  'process/start-refused',
  'process/outage',
  'process/plans',
  'process/inputs/worst-documents',
  'system/health',
  'rooms/replay',
  'rooms/attachments/texts',
  'rooms/room-crypto',
  'files/extract-text',
  'ai/failures/circuit',
  'ai/failures/faults',
  'ai/usage/bills',
  'ai/translated-requests',
  'identity/login/subjects',
  'json-api/fuzz',
  'json-api/openapi/answers',
  'json-api/openapi/docs',
  'json-api/conformance/conformance',
].map((name) => `/test/${name}.test.ts`)

/** A fresh clone remembers no times, by which vitest would sort. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => Number(!longest.some((end) => moduleId.endsWith(end)))
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** What another PostgreSQL or Valkey can break, run on those of Debian: statements, rights, limits, and the process around them. */
const onDebian = [
  'test/process/{day-partitions,key-value,migrations,outage,plans,statements,store-quotas}.test.ts',
  'test/identity/{erasure,keychain,sessions,tokens}.test.ts',
  'test/catalogue/{ai-models,sync,visible-models}.test.ts',
  'test/ai/limits/{limits,orphaned-reservations,reservation-plans,reservation-races}.test.ts',
  'test/ai/usage/{outage,usage}.test.ts',
  'test/rooms/{change-log,plans,room-messages,room-races,rooms,replay}.test.ts',
  'test/apps/linking.test.ts',
  'test/json-api/{conditional,statements}.test.ts',
  'test/realtime/{ghosts,healing,presence,quotas}.test.ts',
]

const isDebian = Boolean(process.env['TEST_POSTGRES'])

// Workers and the services that tests start share what Node has compiled.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url))

/** A file for what is counted, beside what is printed. */
const report = process.env['TEST_REPORT']

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'soak' ? [...soak, ...soakOnly] : isDebian ? onDebian : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(isDebian ? soak : []), ...(mode === 'soak' ? [] : soakOnly)],
    provide: { soak: mode === 'soak' },
    reporters: [new ShortReporter({ repeatedFile: report && `${report}.repeated` }), ...(report ? ['json'] : [])],
    ...(report && { outputFile: { json: report } }),
    globalSetup: ['test/kit/global-setup.ts'],
    setupFiles: ['test/kit/before-midnight.ts', 'test/kit/quiet-libraries.ts'],
    // A guard against what hangs: a busy machine takes several times as long as a quiet one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine is late, and what is there at once is seen at once.
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 4,
    // Node runs the sources as they are: transforming them for each worker would take longer than most files of tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // A worker keeps the modules of the service from file to file: each file for itself would load them for a second.
    isolate: false,
    unstubEnvs: true,
    // Browsers and servers of a busy machine now and then take longer than a test waits; the log says what was repeated.
    retry: process.env['CI'] ? 1 : 0,
  },
}))
