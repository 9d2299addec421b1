import { createHash } from 'node:crypto'

/** What every provider takes for the name of a function. */
const MAX_LENGTH = 64
const MAX_LABEL = 24

/** A name for models, of the label of the server and the tool's own; another one where that is taken already. */
export function nameFor({ label, tool }: { label: string; tool: string }, taken: ReadonlySet<string>): string {
  const wanted = `${slug(label).toLowerCase().slice(0, MAX_LABEL) || 'tools'}_${slug(tool) || 'tool'}`
  const isExact = wanted.length <= MAX_LENGTH && slug(tool) === tool && !taken.has(wanted)
  if (isExact) return wanted
  for (let n = 0; ; n++) {
    const mark = createHash('sha256').update(`${n} ${label} ${tool}`).digest('hex').slice(0, 8)
    const name = `${wanted.slice(0, MAX_LENGTH - mark.length - 1)}_${mark}`
    if (!taken.has(name)) return name
  }
}

const slug = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
