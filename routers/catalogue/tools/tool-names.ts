import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AiTool, ToolKind } from '../../../entities/catalogue/ai-tool.ts'
import {
  deleteOldToolNames,
  keepToolNames,
  listTakenToolNames,
  type TakenToolName,
} from '../../../entities/catalogue/freed-tool-name.sql.ts'
import { runStatement } from '../../core/run-statement.ts'

/**
 * Maximum length of a new name. Providers accept 64 characters, and programs put a prefix of their own before the names of
 * an MCP server, such as `mcp__svc__`.
 */
const MAX_LENGTH = 50
const MAX_LABEL = 24

interface NamedTool {
  label: string
  url: string
  kind: ToolKind
  /** The server's own name for it, which is the address of a resource. */
  mcpName: string
  /** The text from which its name is made. */
  text: string
}

/** The names that tools have, or had until lately. */
export class ToolNames {
  readonly #taken: Map<string, TakenToolName>

  private constructor(taken: readonly TakenToolName[]) {
    this.#taken = new Map(taken.map((row) => [row.name, row]))
  }

  static async read(em: EntityManager): Promise<ToolNames> {
    return new ToolNames(await runStatement(em, listTakenToolNames, []))
  }

  /** Takes a name for a new tool: the one that it had, if it was there before, otherwise one that no other has had lately. */
  take({ label, url, kind, mcpName, text }: NamedTool): string {
    const former = [...this.#taken.values()].find(
      (row) => row.url === url && row.kind === kind && row.mcpName === mcpName,
    )
    const name = former?.name ?? chooseToolName({ label, tool: text }, this.#taken)
    this.#taken.set(name, { name, url: null, mcpName: null, kind: null })
    return name
  }
}

/** Builds a tool name for models from the server's label and the tool's name, with a suffix if it is taken. */
function chooseToolName(
  { label, tool }: { label: string; tool: string },
  usedNames: Pick<ReadonlySet<string>, 'has'>,
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

/** Keeps the names of tools that are about to be deleted from other tools. */
export async function keepNames(em: EntityManager, tools: readonly Pick<AiTool, 'id'>[]): Promise<void> {
  await runStatement(em, deleteOldToolNames, [])
  await runStatement(em, keepToolNames, [tools.map(({ id }) => id)])
}

const toSlug = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
