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

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return Array.isArray(value) ? value.join(',') : String(value)
}
