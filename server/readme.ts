import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeSettings } from './config/setting-table.ts'

/** The parts of guides that are made from the code, by the name in their marker. */
const parts: Record<string, () => string> = {
  settings: () =>
    writeTable(
      ['Setting', 'Type', 'Default', 'Meaning'],
      describeSettings().map(({ name, type, default: fallback, meaning }) => [
        code(name),
        type,
        code(fallback),
        meaning,
      ]),
    ),
}

/** The text with all parts made anew; what stands between `<!-- generated:name -->` and `<!-- /generated -->` is replaced. */
export function renew(text: string): string {
  return text.replace(
    /(<!-- generated:(\S+) -->\n).*?(?=<!-- \/generated -->)/gs,
    (_, marker: string, name: string) => {
      const part = parts[name]
      if (!part) throw new Error(`There is no part '${name}' that is made from the code.`)
      return `${marker}${part()}\n`
    },
  )
}

const code = (text: string) => text && `\`${text}\``

function writeTable(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('config/README.md', import.meta.url))
  writeFileSync(file, renew(readFileSync(file, 'utf8')))
}
