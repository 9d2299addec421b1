import type { ProgramGrant } from '../../core/caller.ts'
import type { CallableModel } from '../../ports/ai/models.ts'

type Tool = Pick<CallableModel['tools'][number], 'mcp'>

/**
 * Returns true if a model may call the tool for a caller with this grant, or with none. A program that a person has signed
 * in reaches the servers that they chose for it, through models too; one that is closed to programs was never among them.
 * Functions of extensions know no person, so they belong to the model.
 */
export const isToolForModel = ({ mcp }: Tool, grant: ProgramGrant | undefined): boolean =>
  !grant || !mcp || (mcp.server.gateway && isChosen(grant.servers, mcp.server.id))

/** Returns true if a program with this grant, or with none, may call the tool itself. Functions come with all servers only. */
export const isToolForProgram = ({ mcp }: Tool, grant: ProgramGrant | undefined): boolean => {
  const servers = grant?.servers ?? null
  return mcp ? mcp.server.gateway && isChosen(servers, mcp.server.id) : servers === null
}

/** Null stands for all servers. */
const isChosen = (servers: readonly number[] | null, id: number) => servers === null || servers.includes(id)
