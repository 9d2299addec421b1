import type { Result, State } from './suite.ts'

const headings: Record<State, string> = {
  passed: 'Passed',
  'not applicable': 'Not applicable',
  skipped: 'Skipped',
  'named exception': 'Named exceptions',
  failed: 'Failed',
}

/** The largest number of findings shown for one obligation. */
const SHOWN = 5

/** The results in words: a line for each obligation, and what was seen where one failed. */
export function report(results: Result[]): string {
  const states = Object.keys(headings) as State[]
  const groups = states.map((state) =>
    group(
      state,
      results.filter((it) => it.state === state),
    ),
  )
  return `${groups.filter(Boolean).join('\n')}\n${count(results)}\n`
}

function group(state: State, results: Result[]): string {
  if (results.length === 0) return ''
  return `${headings[state]}\n${results.map(line).join('')}`
}

function line({ id, level, says, source, state, why, findings }: Result): string {
  const mark = state === 'failed' && level !== 'MUST' ? 'warning  ' : ''
  const head = `  ${mark}${id}  ${level}  ${says}${why && ` (${why})`}\n`
  if (state !== 'failed') return head
  const seen = findings.slice(0, SHOWN).map(({ at, seen }) => `      ${at}: ${seen}\n`)
  const more = findings.length > SHOWN ? `      and ${findings.length - SHOWN} more\n` : ''
  return `${head}      ${source}\n${seen.join('')}${more}`
}

function count(results: Result[]): string {
  const of = (state: State) => results.filter((it) => it.state === state)
  const failed = of('failed')
  const warnings = failed.filter(({ level }) => level !== 'MUST')
  return [
    `${results.length} obligations: ${of('passed').length} passed`,
    `${of('not applicable').length} not applicable`,
    `${of('skipped').length} skipped`,
    `${of('named exception').length} named exceptions`,
    `${failed.length - warnings.length} failed`,
    `${warnings.length} warnings`,
  ].join(', ')
}
