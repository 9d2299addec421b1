import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { routeAccess, servedRoutes } from '../facades/json-api/exposed-routes.ts'
import { summaryOf } from '../facades/json-api/openapi/summaries.ts'
import { appRouter } from '../routers/index.ts'
import { describeSettings } from './config/setting-table.ts'

/** The parts of the README that are made from the code, by the name in their marker. */
const parts: Record<string, () => string> = {
  settings: () =>
    tableOf(
      ['Setting', 'Type', 'Default', 'Meaning'],
      describeSettings().map(({ name, type, default: fallback, meaning }) => [
        code(name),
        type,
        code(fallback),
        meaning,
      ]),
    ),
  routes: () =>
    tableOf(
      ['Route', 'What it does', 'Open to', 'Ability of the token'],
      servedRoutes(appRouter).map((route) => {
        const { callers, ability = '', sessionOnly } = routeAccess(route)
        return [
          code(`${route.method} ${route.url}`),
          summaryOf(route),
          callers,
          sessionOnly ? 'no token' : code(ability),
        ]
      }),
    ),
}

/** The text with all parts made anew; what stands between `<!-- generated:name -->` and `<!-- /generated -->` is replaced. */
export function renew(text: string): string {
  return text.replace(
    /(<!-- generated:(\S+) -->\n).*?(?=<!-- \/generated -->)/gs,
    (_, marker: string, name: string) => {
      const part = parts[name]
      if (!part) throw new Error(`README.md wants a part '${name}' that nobody makes.`)
      return `${marker}${part()}\n`
    },
  )
}

const code = (text: string) => text && `\`${text}\``

function tableOf(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('../README.md', import.meta.url))
  writeFileSync(file, renew(readFileSync(file, 'utf8')))
}
