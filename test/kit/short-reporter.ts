import { DefaultReporter, type TestCase, type TestModule, type TestRunEndReason } from 'vitest/node'

const SLOWEST = 10

/** Lines of progress where the output is no terminal. */
const STEPS = 10

/**
 * Prints what fits on one screen as long as all is well: progress, then the count and the slowest
 * tests. A failed file is printed as soon as it ends, and its errors at the end.
 */
export class ShortReporter extends DefaultReporter {
  #files = 0
  #ended = 0
  #tests = 0

  constructor() {
    super({ summary: false })
  }

  override onTestRunStart(specifications: Parameters<DefaultReporter['onTestRunStart']>[0]): void {
    super.onTestRunStart(specifications)
    this.#files = specifications.length
    this.#ended = 0
    this.#tests = 0
  }

  override printTestModule(module: TestModule): void {
    this.#ended++
    this.#tests += [...module.children.allTests()].length
    if (module.state() === 'failed') super.printTestModule(module)
    this.#printProgress()
  }

  #printProgress(): void {
    const line = `${this.#ended} of ${this.#files} files, ${this.#tests} tests`
    const isStep =
      Math.floor((this.#ended * STEPS) / this.#files) > Math.floor(((this.#ended - 1) * STEPS) / this.#files)
    if (this.isTTY) process.stdout.write(`\r ${line}${this.#ended === this.#files ? '\n' : ''}`)
    else if (isStep) this.log(` ${line}`)
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: Parameters<DefaultReporter['onTestRunEnd']>[1],
    reason: TestRunEndReason,
  ): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const slowest = tests.toSorted((a, b) => durationOf(b) - durationOf(a)).slice(0, SLOWEST)
    if (tests.length > SLOWEST) this.#printTests('Slowest', slowest)
    super.onTestRunEnd(modules, errors, reason)
  }

  #printTests(title: string, tests: readonly TestCase[]): void {
    if (tests.length === 0) return
    this.log(`\n ${title}`)
    for (const test of tests)
      this.log(`  ${formatSeconds(durationOf(test))}  ${test.module.relativeModuleId}  ${shorten(test.name)}`)
  }
}

const durationOf = (test: TestCase) => test.diagnostic()?.duration ?? 0

const formatSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`.padStart(8)

const shorten = (name: string) => (name.length > 90 ? `${name.slice(0, 89)}…` : name)
