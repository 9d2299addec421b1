/**
 * A sign that starts a formula, at the beginning of a cell. A spreadsheet splits lines by the separator of its own
 * language, so a cell may begin behind any of them. A negative number is no formula.
 */
const formulaStart =
  /(^|[,;|\t\r\n])((?:[^\S\t\r\n]|")*)(?=[=+@\uFF1D\uFF0B\uFF0D\uFF20]|-(?![\d.,]+(?:[;|\t\r\n]|$)))/g

/** Matches what other separators, line breaks and quotation marks would split. */
const needsQuotes = /[,;|\t"\r\n]/

/**
 * Formats a text as a cell of separated values, so that it is one cell and no formula, whatever separator a spreadsheet
 * reads the file with. Quotes alone don't suffice: behind another separator they are not the first character.
 */
export function formatCsvText(text: string): string {
  const safe = text.replace(formulaStart, "$1$2'")
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
