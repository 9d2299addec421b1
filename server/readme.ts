import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeSettings, type SettingPriority } from './config/settings.ts'

/** Generators of README sections, by the name in the section's marker. */
const sections: Record<string, () => string> = {
  'settings-must': () => writeSettings('must'),
  'settings-may': () => writeSettings('may'),
  'settings-tuning': () => writeSettings('tuning'),
}

const writeSettings = (wanted: SettingPriority) =>
  writeTable(
    ['Setting', 'Type', 'Default', 'Meaning'],
    describeSettings()
      .filter(({ priority }) => priority === wanted)
      .map(({ name, type, default: fallback, meaning }) => [formatCode(name), type, formatCode(fallback), meaning]),
  )

/** Replaces the text between each `<!-- generated:name -->` and `<!-- /generated -->` with a newly generated section. */
export function regenerateSections(text: string): string {
  return text.replace(
    /(<!-- generated:(\S+) -->\n).*?(?=<!-- \/generated -->)/gs,
    (_, marker: string, name: string) => {
      const section = sections[name]
      if (!section) throw new Error(`There is no part '${name}' that is made from the code.`)
      return `${marker}${section()}\n`
    },
  )
}

const formatCode = (text: string) => text && `\`${text}\``

function writeTable(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('config/README.md', import.meta.url))
  writeFileSync(file, regenerateSections(readFileSync(file, 'utf8')))
}
