/** A table for a spreadsheet: what it would take for a formula is text to it. */
export function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(quote).join(','))
  // Without the mark at its beginning, spreadsheets read it in an old encoding.
  return `\uFEFF${lines.join('\r\n')}\r\n`
}

function quote(cell: string): string {
  const safe = /^[=+@\t\r]|^-(?![\d.]+$)/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function download(name: string, text: string, type = 'text/csv'): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  Object.assign(document.createElement('a'), { href: address, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(address))
}
