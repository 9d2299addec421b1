import { expect, test } from 'vitest'
import { parseMarkdown } from '../../facades/web/app/shared/markdown/parser.ts'
import { toSpokenText } from '../../facades/web/app/shared/markdown/spoken-text.ts'
import { writeTableAsCsv } from '../../facades/web/app/shared/markdown/table-csv.ts'

function copyTable(text: string): string {
  const [block] = parseMarkdown(text).blocks
  if (block?.type !== 'table') throw new Error('The text is no table.')
  return writeTableAsCsv(block)
}

test('a copied table has its shown texts, quoted where a separator would split', () => {
  const table = [
    '| **Name** | Value, `unit` |',
    '|---|---|',
    '| [Ada](https://example.org) &rarr; B | 1,5 €; 2 |',
    '| $x^2$ | first<br>second "line" |',
  ]

  expect(copyTable(table.join('\n'))).toBe('Name,"Value, unit"\r\nAda → B,"1,5 €; 2"\r\n$x^2$,"first\nsecond ""line"""')
})

test('no cell of a copied table is a formula, whatever separator a spreadsheet uses', () => {
  const csv = copyTable('| a | b |\n|---|---|\n| Anna;=1+1 | =HYPERLINK("x") |\n| -5 | -A1 |\n| @SUM | +1 |')

  expect(csv).toBe('a,b\r\n"Anna;\'=1+1","\'=HYPERLINK(""x"")"\r\n-5,\'-A1\r\n\'@SUM,\'+1')
})

test('what is read aloud has no addresses, no TeX and no rules of tables', () => {
  const names = { code: 'Code.', formula: 'formula', picture: (name: string) => `Picture: ${name}` }
  const text = `## Result

See [the statutes](https://example.org/2026?id=4711#abs-3) and ![Map](https://example.org/b.png).[^1]

Then $\\frac{a}{b} = c$ and

$$
\\int_0^1 x\\,dx
$$

| Year | Count |
|------|-------|
| 2026 | 4 |

> 3 * 4 is 12, *not* 13.

- \`npm run build\`
  - and wait

\`\`\`sh
ls
\`\`\`

[^1]: A note.`

  expect(toSpokenText(text, names).split('\n')).toEqual([
    'Result',
    'See the statutes and Picture: Map.',
    'Then formula and',
    'formula',
    'Year, Count',
    '2026, 4',
    '3 * 4 is 12, not 13.',
    'npm run build',
    'and wait',
    'Code.',
    'A note.',
  ])
})
