import type { ProgramGrant } from '../../core/caller.ts'
import type { CallableModel } from '../../ports/ai/models.ts'

type ListedTool = CallableModel['tools'][number]
type ListedServer = NonNullable<ListedTool['mcp']>['server']

/** A tool, or all that a server offers to the same groups. */
interface Tool extends Pick<ListedTool, 'groups'> {
  /** Null for a function of an extension. */
  mcp: { server: Pick<ListedServer, 'id' | 'groups' | 'gateway'> } | null
}

/**
 * Returns true if a model may call the tool for a caller with this grant, or with none. A program that a person has signed
 * in reaches the servers that they chose for it, through models too; one that is closed to programs was never among them.
 * Functions of extensions know no person, so they belong to the model.
 */
export const isToolForModel = ({ mcp }: Pick<Tool, 'mcp'>, grant: ProgramGrant | undefined): boolean =>
  !grant || !mcp || (mcp.server.gateway && isChosen(grant.servers, mcp.server.id))

/** Returns true if a program with this grant, or with none, may call the tool itself. Functions come with all servers only. */
export const isToolForProgram = ({ mcp }: Pick<Tool, 'mcp'>, grant: ProgramGrant | undefined): boolean => {
  const servers = grant?.servers ?? null
  return mcp ? mcp.server.gateway && isChosen(servers, mcp.server.id) : servers === null
}

/** Null stands for all servers. */
const isChosen = (servers: readonly number[] | null, id: number) => servers === null || servers.includes(id)

/** Returns true if a list of groups, which is empty for everybody, has one of the caller's; those are null for all. */
export const isForGroups = (allowed: readonly string[], groups: readonly string[] | null): boolean =>
  groups === null || allowed.length === 0 || allowed.some((group) => groups.includes(group))

/** Returns true if the tool and its server are for one of the caller's groups. */
export const isToolForGroups = ({ groups: ofTool, mcp }: Tool, groups: readonly string[] | null): boolean =>
  isForGroups(ofTool, groups) && isForGroups(mcp?.server.groups ?? [], groups)
