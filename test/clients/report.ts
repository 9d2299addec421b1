import type { Client } from './clients.ts'
import type { LoggedRequest } from './request-log.ts'

/** The observations of one client. */
export interface Row {
  client: Client
  version: string
  /** Number of tasks, one for each model that the client knows. */
  tasks: number
  failures: string[]
  requests: LoggedRequest[]
  /** Names of the tools that reached a model. */
  reached: ReadonlySet<string>
}

const heading = `| Client | Asks at | Tasks done | Refused requests | Ignored members | Tools that no model got |
| --- | --- | --- | --- | --- | --- |
`

/** Writes a table for each facade, and what failed below them. */
export function writeTables(rows: readonly Row[]): string {
  const day = new Date().toISOString().slice(0, 10)
  const byFacade = Map.groupBy(rows, ({ client }) => client.facade)
  const tables = [...byFacade].map(
    ([facade, list]) => `facades/${facade}, ${day}:\n\n${heading}${list.map(writeRow).join('')}\n`,
  )
  const failures = rows.flatMap(({ client, failures }) => failures.map((failure) => `${client.name}: ${failure}\n`))
  return tables.join('') + failures.join('')
}

function writeRow({ client, version, tasks, failures, requests, reached }: Row): string {
  const refusals = requests.filter(({ status }) => status >= 400)
  const asked = requests.filter(({ tools, path }) => tools.length > 0 || path.includes('/v1/'))
  const lost = requests.flatMap(({ tools }) => tools).filter((name) => !reached.has(name))
  const cells = [
    `${client.name} ${version}`,
    list(asked.map(({ path }) => `\`${path}\``)),
    tasks === 0 ? 'not started' : `${tasks - failures.length} of ${tasks}`,
    list(refusals.map(({ path, status, refusal }) => `${status} ${path}: ${summarize(refusal)}`)),
    list(requests.flatMap(({ ignored }) => ignored.map((name) => `\`${name}\``))),
    list(lost.map((name) => `\`${name}\``)),
  ]
  return `| ${cells.join(' | ')} |\n`
}

const list = (entries: readonly string[]) => [...new Set(entries)].join(', ') || 'none'

export const summarize = (body: string) =>
  (/"(?:message|detail)": ?"((?:[^"\\]|\\.)*)/.exec(body)?.[1] ?? body).slice(0, 200)
