import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, parseCLI, type TestSpecification } from 'vitest/node'
import { ShortReporter } from './test/kit/short-reporter.ts'

/** Drills take minutes: kills, lost connections, other versions, agents. Only the soak runs them. */
const drills = 'test/**/*.drill.test.ts'

/** Tests of these files take about a second each, or more. They run in the soak and with their area, so that `npm test` stays quick. */
const slow = 'test/**/*.slow.test.ts'

/** A file has the tag if a line of it says `// @module-tag debian`. */
const debian = {
  name: 'debian',
  description:
    'runs on the PostgreSQL and Valkey of Debian, too: statements, rights, limits, and the process around them',
}

const listTagged = ({ name }: typeof debian): string[] =>
  globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
    readFileSync(`${import.meta.dirname}/${file}`, 'utf8').includes(`// @module-tag ${name}\n`),
  )

/**
 * Slow files begin first, so that at the end no worker goes on alone, and drills are spread among them: they mostly wait,
 * and many at once are late for their own leases. Vitest sorts by remembered times, or by size.
 */
class DrillsAmongSlow extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const takeAll = (suffix: string) => sorted.filter(({ moduleId }) => moduleId.endsWith(suffix))
    const waiting = takeAll('.drill.test.ts')
    const longest = takeAll('.slow.test.ts')
    const others = sorted.filter((file) => !waiting.includes(file) && !longest.includes(file))
    const between = Math.max(1, Math.floor(longest.length / waiting.length))
    const mixed = longest.flatMap((file, index) => (index % between === 0 ? [...waiting.splice(0, 1), file] : [file]))
    return [...mixed, ...waiting, ...others]
  }
}

const isDebian = Boolean(process.env['TEST_POSTGRES'])

/** True if the command names areas or files. */
const isPart = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0

const listIncluded = (mode: string): string[] => {
  if (mode === 'soak') return [drills, slow]
  return isDebian ? listTagged(debian) : ['test/**/*.test.ts']
}

/** Public sets are not in the repository: their file runs only if somebody names a folder with them. */
const unbrought = process.env['KNOWLEDGE_SETS'] ? [] : ['test/knowledge/public-sets.slow.test.ts']

const listExcluded = (mode: string): string[] => {
  if (mode === 'soak') return unbrought
  return [...unbrought, ...(isPart || isDebian ? [drills] : [drills, slow])]
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
    reporters: [new ShortReporter(), ...(report ? ['json'] : [])],
    ...(report && { outputFile: { json: report } }),
    globalSetup: ['test/kit/global-setup.ts'],
    setupFiles: ['test/kit/before-midnight.ts', 'test/kit/quiet-libraries.ts'],
    // A guard against what hangs: a busy machine takes several times as long as a quiet one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A busy machine is late, and what is there at once is seen at once.
    expect: { poll: { timeout: 60_000 } },
    // The soak mostly waits; more workers than this make each test take more of the processor.
    maxWorkers: mode === 'soak' ? 5 : 4,
    // Node runs the sources as they are: transforming them for each worker would take longer than most files of tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    tags: [debian],
    sequence: { sequencer: DrillsAmongSlow },
    // A worker keeps the modules of the service from file to file: each file for itself would load them for a second.
    isolate: false,
    unstubEnvs: true,
  },
}))
