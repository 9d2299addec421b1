import { decodeText } from './plain.ts'
import type { TextCollector } from './text-collector.ts'

export async function readMarkdown(bytes: Buffer, text: TextCollector): Promise<void> {
  addMarkdown(await decodeText(bytes), text)
}

/** Adds Markdown as it is written, with marks for headings and tables; code between fences has none. */
export function addMarkdown(markdown: string, text: TextCollector): void {
  let state: LineState = { isTable: false }
  for (const [line] of markdown.matchAll(/[^\n]*\n|[^\n]+$/g)) {
    const next = readLine(line, state)
    if (next.isTable !== state.isTable) text.mark(next.isTable ? 'table' : 'table-end')
    if (next.level) text.mark('heading', next.level)
    text.add(line)
    state = next
  }
  if (state.isTable) text.mark('table-end')
}

interface LineState {
  /** The marker of the code that has begun. */
  fence?: string | undefined
  isTable: boolean
  /** The level of the heading that the line is. */
  level?: number | undefined
}

const heading = /^ {0,3}(#{1,6})[ \t]+\S/
/** What stands behind backticks must have none, as they would be code within a line. */
const fenceStart = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/
const fenceEnd = /^ {0,3}(`{3,}|~{3,})\s*$/
const tableRow = /^ {0,3}\|/

function readLine(line: string, { fence }: LineState): LineState {
  if (fence) return { fence: fenceEnd.exec(line)?.[1]?.startsWith(fence) ? undefined : fence, isTable: false }
  return { fence: fenceStart.exec(line)?.[1], isTable: tableRow.test(line), level: heading.exec(line)?.[1]?.length }
}
