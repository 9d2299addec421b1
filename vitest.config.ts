import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, parseCLI, type TestSpecification } from 'vitest/node'
import { ShortReporter } from './test/kit/short-reporter.ts'

/** Tests that `npm run soak` repeats for minutes, because chance decides them. */
const repeated = [
  'test/ai/{client-libraries,obeyed,failures/faults}.test.ts',
  'test/json-api/conformance/conformance.test.ts',
]

/** Drills, which take minutes: kills, lost connections, other versions, agents. Only the soak runs them. */
const drills = [
  'test/cli/bench.test.ts',
  'test/process/{command-lines,frozen-replica,kills,lost-connection,older-front-end,rolling-stop,stop,upgrade}.test.ts',
  'test/process/deployment/{deploy,image}.test.ts',
  'test/rooms/attachments/kills.test.ts',
  'test/realtime/chaos.test.ts',
  'test/web/{rooms-connection,rooms-crowd,rooms-recovery,rooms-search}.test.ts',
  'test/ai/{agents,stored-files-memory,stream-fuzz,stream-fuzz-surfaces,limits/limit-history,limits/leases}.test.ts',
  'test/json-api/{differential,openapi/linters}.test.ts',
  'test/rooms/ai/{kills,passing-events}.test.ts',
]

/** Files whose tests take about a second each, or more. They run in the soak and with their area, so that `npm test` stays quick. */
const slow = [
  'test/ai/{attachments,forgotten-questions,stored-files,unread,failures/circuit}.test.ts',
  'test/ai/limits/{amounts,fallback-limits,lost-calls,rate-limit}.test.ts',
  'test/apps/{surfaces,two-apps}.test.ts',
  'test/cli/process.test.ts',
  'test/client/{generated-clients,rooms}.test.ts',
  'test/files/{extract-text,file-converters,job-queue,upkeep}.test.ts',
  'test/identity/{account-invitations,person-export,sensitive-acts,session-table,login/elsewhere}.test.ts',
  'test/json-api/{fuzz,idempotency,statements,conformance/command,conformance/own,openapi/answers,openapi/docs}.test.ts',
  'test/mcp/response-calls.test.ts',
  'test/process/{backup,early-refusals,exhaustion,log,outage,outbound-answers,plans,pooler,sentinels,store-quotas}.test.ts',
  'test/process/{start,start-refused,start-warnings,uncaught-errors,deployment/systemd}.test.ts',
  'test/process/inputs/{odd-values,worst-documents,worst-inputs}.test.ts',
  'test/realtime/{healing,storm}.test.ts',
  'test/rooms/{attachments/kinds,attachments/texts,plans,replay,room-crypto,room-races,senders}.test.ts',
  'test/system/{frontend-migrations,health-failures,overview,telemetry}.test.ts',
  'test/web/{actions,admin-models,admin-operation,admin-people,app-source,connect,damaged-store,labels,lost-service,missing-files}.test.ts',
  'test/web/{chat-answers,chat-attacks,chat-import,chat-list,chat-surroundings,pages,person-export,views}.test.ts',
  'test/web/{rooms,rooms-answers,rooms-keys,rooms-list,rooms-members,rooms-reading}.test.ts',
  'test/web/{settings,settings-limits,settings-tokens,settings-usage}.test.ts',
]

/** Tests that take longest: they begin first and in this order, so that at the end no worker goes on alone. */
const longest = [
  'process/rolling-stop',
  'process/kills',
  'process/deployment/image',
  'cli/bench',
  'ai/limits/limit-history',
  'ai/client-libraries',
  'ai/agents',
  'realtime/chaos',
  'json-api/fuzz',
  'json-api/differential',
  'web/views',
  'web/admin-operation',
  'web/admin-people',
  'web/admin-models',
  'web/chat-list',
  'web/chat-attacks',
  'web/chat-answers',
  'web/chat-surroundings',
  'web/rooms',
  'web/rooms-reading',
  'web/rooms-members',
  'web/rooms-list',
  'web/settings',
  'web/settings-tokens',
  'web/pages',
  'web/connect',
  'web/chat',
  'client/calls',
  'cli/limits',
  'cli/process',
  'process/backup',
  'process/start',
  'process/start-refused',
  'process/plans',
  'process/store-quotas',
  'process/early-refusals',
  'process/inputs/worst-inputs',
  'system/health',
  'system/telemetry',
  'rooms/replay',
  'rooms/attachments/kinds',
  'rooms/attachments/texts',
  'files/extract-text',
  'files/upkeep',
  'ai/failures/circuit',
  'ai/usage/bills',
  'ai/usage/cut-answers',
  'ai/limits/amounts',
  'ai/provider',
  'ai/translated-requests',
  'identity/who-may-call',
  'identity/login/ldap-servers',
  'json-api/openapi/answers',
  'json-api/openapi/docs',
  'json-api/conformance/conformance',
].map((name) => `/test/${name}.test.ts`)

/** A fresh clone remembers no times, by which vitest would sort. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex((end) => moduleId.endsWith(end))
      return index === -1 ? longest.length : index
    }
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

/** True if the command names areas or files. */
const isPart = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0

const listIncluded = (mode: string): string[] => {
  if (mode === 'soak') return [...repeated, ...drills, ...slow]
  return isDebian ? onDebian : ['test/**/*.test.ts']
}

const listExcluded = (mode: string): string[] => {
  if (mode === 'soak') return []
  if (isDebian) return [...repeated, ...drills]
  return isPart ? drills : [...drills, ...slow]
}

// Workers and the services that tests start share what Node has compiled.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url))

/** A file for what is counted, beside what is printed. */
const report = process.env['TEST_REPORT']

export default defineConfig(({ mode }) => ({
  test: {
    include: listIncluded(mode),
    exclude: [...configDefaults.exclude, ...listExcluded(mode)],
    provide: { soak: mode === 'soak' },
    reporters: [new ShortReporter({ repeatedFile: report && `${report}.repeated` }), ...(report ? ['json'] : [])],
    ...(report && { outputFile: { json: report } }),
    globalSetup: ['test/kit/global-setup.ts'],
    setupFiles: ['test/kit/before-midnight.ts', 'test/kit/quiet-libraries.ts'],
    // A guard against what hangs: a busy machine takes several times as long as a quiet one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
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
