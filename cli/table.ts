interface TableOptions {
  /** How wide it may be: the longest texts of these columns are cut. */
  width: number
  cuttable: readonly string[]
}

/** Records as columns under the names of their members. */
export function table(records: readonly object[], none: string, options?: TableOptions): string {
  const [first] = records
  if (!first) return none
  const rows = [Object.keys(first), ...records.map((record) => Object.values(record).map(cell))]
  const names = Object.keys(first)
  const full = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const widths = options ? shrink(full, names, options) : full
  return rows
    .map((row) =>
      row
        .map((text, column) => cut(text, widths[column] ?? 0).padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

const GAP = '  '

/** Takes from the widest column that may be cut, down to its name, until all have room. */
function shrink(
  full: readonly number[],
  names: readonly string[],
  { width, cuttable }: TableOptions,
): readonly number[] {
  const widths = [...full]
  const columns = [...names.keys()].filter((column) => cuttable.includes(names[column] ?? ''))
  const total = () => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length)
  while (total() > width) {
    const [widest] = columns
      .filter((column) => (widths[column] ?? 0) > (names[column]?.length ?? 0))
      .toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const cut = (text: string, width: number) => (text.length > width ? `${text.slice(0, width - 1)}…` : text)

/** One record, a line for each member. */
export function properties(record: object): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length))
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n')
}

/** A point in time, of which the minute is enough. */
const moment = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return Array.isArray(value) ? value.join(',') || '-' : String(value).replace(moment, '$1 $2')
}
