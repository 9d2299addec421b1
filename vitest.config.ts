import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that `npm run soak` repeats for minutes, because chance decides them, or runs in full, because that takes minutes. */
const soak = [
  'test/process/kills.test.ts',
  'test/process/rolling-stop.test.ts',
  'test/process/lost-connection.test.ts',
  'test/realtime/chaos.test.ts',
  'test/ai/limit-history.test.ts',
  'test/json-api/fuzz.test.ts',
  'test/json-api/conformance.test.ts',
  'test/json-api/differential.test.ts',
]

/** Files that learn little from another PostgreSQL: pages, packing, parsers of files, and what the soak runs anyway. */
const elsewhere = process.env['TEST_POSTGRES'] ? [...soak, 'test/{web,client,files,conformance}/**'] : []

/** A file for what is counted, beside what is printed. */
const report = process.env['TEST_REPORT']

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'soak' ? soak : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...elsewhere],
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
