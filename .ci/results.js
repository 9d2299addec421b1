// results.js failed REPORT: prints the files of a report of Vitest that have a failure.
// results.js count FOLDER STATUS: prints how many tests of all reports in a folder passed, failed and were skipped, and
// ends with 1 unless all passed and STATUS is 0. What ran again, in `NAME.again.json`, counts in place of its file in `NAME.json`.
import { readdirSync, readFileSync } from 'node:fs'

/** The files of a report by their paths in the project. A report that cannot be read has none. */
function readFiles(report) {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    return new Map(testResults.map((file) => [file.name.replace(/^.*?\/(?=test\/)/, ''), file]))
  } catch {
    return new Map()
  }
}

const count = (file, ...states) => file.assertionResults.filter(({ status }) => states.includes(status)).length

/** A file that could not even be read has no tests, and is a failure. */
const countFailed = (file) => count(file, 'failed') || Number(file.status === 'failed')

function countAll(folder) {
  const sum = { passed: 0, failed: 0, skipped: 0 }
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.json') && !entry.endsWith('.again.json'))) {
    const report = `${folder}/${name}`
    const files = new Map([...readFiles(report), ...readFiles(report.replace(/json$/, 'again.json'))])
    for (const file of files.values()) {
      sum.passed += count(file, 'passed')
      sum.failed += countFailed(file)
      sum.skipped += count(file, 'pending', 'skipped', 'todo')
    }
  }
  return sum
}

const [command, path, status] = process.argv.slice(2)
if (command === 'failed') {
  for (const [name, file] of readFiles(path)) if (countFailed(file) > 0) console.log(name)
} else {
  const { passed, failed, skipped } = countAll(path)
  const failures = status === '0' ? failed : Math.max(failed, 1)
  console.log(`${passed} passed, ${failures} failed, ${skipped} skipped`)
  process.exitCode = failures > 0 || skipped > 0 ? 1 : 0
}
