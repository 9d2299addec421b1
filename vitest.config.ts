import { defineConfig } from 'vitest/config'

/** Tests whose outcome hangs on chance: `npm run soak` repeats them for minutes. */
const soak = ['test/process/kills.test.ts', 'test/json-api/fuzz.test.ts', 'test/process/rolling-stop.test.ts']

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'soak' ? soak : ['test/**/*.test.ts'],
    provide: { soak: mode === 'soak' },
    globalSetup: ['test/kit/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 4,
    // Browsers and servers of a busy machine now and then take longer than a test waits; the log says what was repeated.
    retry: process.env['CI'] ? 1 : 0,
  },
}))
