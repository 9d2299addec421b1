import { expect, test } from 'vitest'
import { writeCsvRows } from '../../cli/output.ts'
import { formatCsvText } from '../../routers/ports/csv.ts'

/** Texts that people may set, such as names, each with the sign of a formula somewhere. */
const hostile = ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\uFF1D1+1', '-cmd', ' =1+1', '"=1+1"', "''=1+1"].flatMap(
  (formula) => [
    formula,
    ...[',', ';', '\t', '|', '\n', '\r\n', ';"', ',"', '; ', ';;', ',\t'].flatMap((separator) => [
      `Anna${separator}${formula}`,
      `Anna"${separator}${formula}"${separator}${formula}`,
      `${separator}${formula}`,
      `Anna${separator}`,
    ]),
  ],
)

/** Splits a file into cells as spreadsheets do: quotes count only where they are the first character of a cell. */
function splitCells(text: string, separator: string): string[] {
  const cell = new RegExp(`(?:"((?:[^"]|"")*)(?:"|$))?([^${separator}\\r\\n]*)(?:\\r\\n|[${separator}\\r\\n]|$)`, 'gy')
  const cells = [...text.matchAll(cell)].map(([, quoted = '', rest = '']) => quoted.replaceAll('""', '"') + rest)
  // Behind the last line break is an empty match.
  return cells.slice(0, -1)
}

const isFormula = (cell: string) => /^[\s"]*[=+@\uFF1D]/.test(cell) || /^[\s"]*-(?![\d.,]*$)/.test(cell)

/** Every text as the first, second and last cell of a line. */
const rows = hostile.map((text) => ({ first: text, second: text, last: text }))

async function writeFile(separator: ',' | ';'): Promise<string> {
  const batches = (async function* () {
    yield rows
  })()
  let file = ''
  const form = { separator, decimal: separator === ';' ? ',' : '.' }
  for await (const chunk of writeCsvRows(batches, ['first', 'second', 'last'], form)) file += chunk
  return file
}

test.for([',', ';'] as const)('no cell of a file with %s is a formula under any separator', async (own) => {
  const file = await writeFile(own)

  for (const separator of [',', ';', '\t', '|'])
    expect([separator, splitCells(file, separator).filter(isFormula)]).toEqual([separator, []])
})

test('a file read with its own separator has every text in its own cell', async () => {
  for (const own of [',', ';'] as const) {
    const cells = splitCells(await writeFile(own), own)
    expect(cells).toHaveLength(3 + rows.length * 3)
    expect(cells.slice(3).map((cell) => cell.replaceAll("'", ''))).toEqual(
      rows.flatMap(({ first }) => Array(3).fill(first.replaceAll("'", ''))),
    )
  }
})

test.for<[text: string, cell: string]>([
  ['Anna', 'Anna'],
  ['-1.5', '-1.5'],
  ['a - b', 'a - b'],
  ['ada@example.org', 'ada@example.org'],
  ['3+4', '3+4'],
  ['one, two', '"one, two"'],
  ['Anna;=1+1', `"Anna;'=1+1"`],
  ['=1+1', "'=1+1"],
])('the text %s is written as %s', ([text, cell]) => {
  expect(formatCsvText(text)).toBe(cell)
})
