import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that `npm run soak` repeats for minutes, because chance decides them, or runs in full, because that takes minutes. */
const soak = [
  'test/process/kills.test.ts',
  'test/process/rolling-stop.test.ts',
  'test/process/lost-connection.test.ts',
  'test/realtime/chaos.test.ts',
  'test/ai/limits/limit-history.test.ts',
  'test/ai/faults.test.ts',
  'test/json-api/fuzz.test.ts',
  'test/json-api/conformance.test.ts',
  'test/json-api/openapi/answers.test.ts',
]

/** Tests that are too long for `npm test`, and run in the soak alone. */
const soakOnly = [
  'test/json-api/differential.test.ts',
  'test/process/image.test.ts',
  'test/process/older-front-end.test.ts',
  'test/process/stop.test.ts',
  'test/rooms/ai/kills.test.ts',
]

/** What another PostgreSQL or Valkey can break, run on those of Debian: statements, rights, limits, and the process around them. */
const onDebian = [
  'test/{catalogue,rooms,apps}/**/*.test.ts',
  'test/identity/{erasure,sessions,tokens,keychain}.test.ts',
  'test/json-api/{statements,conditional}.test.ts',
  'test/ai/{limits/*,usage}.test.ts',
  'test/process/{migrations,plans,outage,key-value,store-quotas,day-partitions,deploy}.test.ts',
  'test/realtime/{ghosts,healing,presence,quotas}.test.ts',
]

const isDebian = Boolean(process.env['TEST_POSTGRES'])

/** A file for what is counted, beside what is printed. */
const report = process.env['TEST_REPORT']

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'soak' ? [...soak, ...soakOnly] : isDebian ? onDebian : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(isDebian ? soak : []), ...(mode === 'soak' ? [] : soakOnly)],
    provide: { soak: mode === 'soak' },
    ...(report && { reporters: ['default', 'json'], outputFile: { json: report } }),
    globalSetup: ['test/kit/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 4,
    // A worker keeps the modules of the service from file to file: each file for itself would load them for a second.
    isolate: false,
    unstubEnvs: true,
    // Browsers and servers of a busy machine now and then take longer than a test waits; the log says what was repeated.
    retry: process.env['CI'] ? 1 : 0,
  },
}))
