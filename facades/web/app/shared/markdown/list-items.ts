import { FenceTracker, getIndent, type ListMark, readListMark, removeIndent, skipColumns } from './block-syntax.ts'
import { isBlank } from './characters.ts'
import type { WorkBudget } from './work-budget.ts'

/** The lines of an item without its mark and indentation, and the index of the line behind it. */
interface CollectedItem {
  lines: string[]
  end: number
  /** True if blank lines follow the item. */
  hasBlankBehind: boolean
}

/** Returns true if a line goes on with the paragraph that the line before it may be a part of. */
type ContinuesParagraph = (before: string | undefined, line: string) => boolean

/** Collects the lines of the item that begins with this mark. */
export function collectItem(
  all: readonly string[],
  start: number,
  { contentIndent }: ListMark,
  budget: WorkBudget,
  continuesParagraph: ContinuesParagraph,
): CollectedItem {
  const lines = [skipColumns(all[start] ?? '', contentIndent)]
  const fence = new FenceTracker()
  fence.follow(lines[0] ?? '')
  const goesOn = (line: string) => !fence.isOpen && !readListMark(line) && continuesParagraph(lines.at(-1), line)
  // An item that begins with a blank line has no second one.
  const canBeBlank = () => lines.length > 1 || !isBlank(lines[0] ?? '')
  const isPart = (line: string) => (isBlank(line) ? canBeBlank() : getIndent(line) >= contentIndent || goesOn(line))
  let end = start + 1
  for (; end < all.length && isPart(all[end] ?? ''); end++) {
    const line = all[end] ?? ''
    budget.takeSteps(1 + line.length)
    const text = getIndent(line) >= contentIndent ? removeIndent(line, contentIndent) : line.trimStart()
    fence.follow(text)
    lines.push(text)
  }
  return { end, ...removeBlankEnd(lines) }
}

function removeBlankEnd(lines: readonly string[]): { lines: string[]; hasBlankBehind: boolean } {
  const count = Math.max(1, lines.findLastIndex((line) => !isBlank(line)) + 1)
  return { lines: lines.slice(0, count), hasBlankBehind: count < lines.length }
}
