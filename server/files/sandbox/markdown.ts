import { decodeText } from './plain.ts'
import type { TextCollector } from './text-collector.ts'

export async function readMarkdown(bytes: Buffer, text: TextCollector): Promise<void> {
  addMarkdown(await decodeText(bytes), text)
}

const heading = /^ {0,3}(#{1,6})[ \t]+\S/
const fence = /^ {0,3}(`{3,}|~{3,})/
const tableRow = /^ {0,3}\|/

/** Adds Markdown as it is written, with marks for headings and tables; code between fences has none. */
export function addMarkdown(markdown: string, text: TextCollector): void {
  let fencedBy: string | undefined
  let isInTable = false
  for (const [line] of markdown.matchAll(/[^\n]*\n|[^\n]+$/g)) {
    const [, marker] = fence.exec(line) ?? []
    const isTable = fencedBy === undefined && tableRow.test(line)
    if (isTable !== isInTable) text.mark(isTable ? 'table' : 'table-end')
    isInTable = isTable
    const [, level] = (fencedBy === undefined && heading.exec(line)) || []
    if (level) text.mark('heading', level.length)
    text.add(line)
    if (fencedBy === undefined) fencedBy = marker
    else if (marker?.startsWith(fencedBy)) fencedBy = undefined
  }
  if (isInTable) text.mark('table-end')
}
