import { getIndent, removeIndent } from './block-syntax.ts'
import { isBlank } from './characters.ts'
import type { References } from './references.ts'

/** A label with its address, and perhaps a title. */
const DEFINITION =
  /^ {0,3}\[((?:\\.|[^[\]\\])+)\]:[ \t]*(?:<([^<>]*)>|(\S+))(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/

/** Reads the definition of a label or a footnote; returns the index of the line behind it, undefined if there is none. */
export const readDefinition = (lines: readonly string[], at: number, references: References): number | undefined =>
  readNote(lines, at, references) ?? readAddress(lines, at, references)

/** Reads a footnote with the lines that are indented below it. */
function readNote(lines: readonly string[], at: number, references: References): number | undefined {
  const note = /^ {0,3}\[\^([^\]\s]{1,100})\]:[ \t]*(.*)$/.exec(lines[at] ?? '')
  if (!note) return undefined
  const isIndented = (index: number) => getIndent(lines[index] ?? '') >= 2 && !isBlank(lines[index] ?? '')
  let end = at + 1
  while (isIndented(end) || (isBlank(lines[end] ?? '') && isIndented(end + 1))) end++
  const inner = lines.slice(at + 1, end).map((line) => removeIndent(line, 4))
  references.addNote(note[1] ?? '', [note[2] ?? '', ...inner])
  return end
}

/** Reads the address of a label, which may stand in a line of its own. */
function readAddress(lines: readonly string[], at: number, references: References): number | undefined {
  const line = lines[at] ?? ''
  const isSplit = /^ {0,3}\[[^\]]+\]:[ \t]*$/.test(line)
  const definition = DEFINITION.exec(isSplit ? `${line} ${lines[at + 1]?.trim() ?? ''}` : line)
  if (!definition) return undefined
  references.addAddress(definition[1] ?? '', definition[2] ?? definition[3] ?? '')
  return at + (isSplit ? 2 : 1)
}
