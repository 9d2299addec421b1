/** Records as columns under the names of their members. */
export function table(records: readonly object[], none: string): string {
  const [first] = records
  if (!first) return none
  const rows = [Object.keys(first), ...records.map((record) => Object.values(record).map(cell))]
  const widths = Object.keys(first).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

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
