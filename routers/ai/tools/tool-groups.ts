import type { CallableModel } from '../../ports/ai/models.ts'

/** Returns true if a list of groups, which is empty for everybody, has one of the caller's; those are null for all. */
export const isForGroups = (allowed: readonly string[], groups: readonly string[] | null): boolean =>
  groups === null || allowed.length === 0 || allowed.some((group) => groups.includes(group))

/** Returns true if the tool and its server are for one of the caller's groups. */
export const isToolForGroups = (
  { groups: ofTool, mcp }: CallableModel['tools'][number],
  groups: readonly string[] | null,
): boolean => isForGroups(ofTool, groups) && isForGroups(mcp?.server.groups ?? [], groups)
