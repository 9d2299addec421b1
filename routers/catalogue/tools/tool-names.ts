import { createHash } from 'node:crypto'

/**
 * Maximum length of a new name. Providers accept 64 characters, and programs put a prefix of their own before the names of
 * an MCP server, such as `mcp__svc__`.
 */
const MAX_LENGTH = 50
const MAX_LABEL = 24

/** Builds a tool name for models from the server's label and the tool's name, with a suffix if it is taken. */
export function chooseToolName(
  { label, tool }: { label: string; tool: string },
  usedNames: ReadonlySet<string>,
): string {
  const preferredName = `${toServerSlug(label)}_${toSlug(tool) || 'tool'}`
  const isExact = preferredName.length <= MAX_LENGTH && toSlug(tool) === tool && !usedNames.has(preferredName)
  if (isExact) return preferredName
  for (let n = 0; ; n++) {
    const suffix = createHash('sha256').update(`${n} ${label} ${tool}`).digest('hex').slice(0, 8)
    const name = `${preferredName.slice(0, MAX_LENGTH - suffix.length - 1)}_${suffix}`
    if (!usedNames.has(name)) return name
  }
}

/** Returns the beginning of the names of a server's tools, by which programs call this server alone, too. */
export const toServerSlug = (label: string): string => toSlug(label).toLowerCase().slice(0, MAX_LABEL) || 'tools'

const toSlug = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
