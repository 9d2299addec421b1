import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** Where tools are called: in a private chat or a request to a model, in a room, or by a program over MCP. */
const toolSurfaces = ['chat', 'room', 'mcp'] as const
export type ToolSurface = (typeof toolSurfaces)[number]

/**
 * `failed`: the tool reported an error of its own. `broken`: there was no result that could be taken. `refused`: the
 * person did not allow the call. `limited`: a limit had no room for it. `invalid`: the arguments did not match the schema, so nothing was called. `aborted`:
 * the caller had gone, or lost the right to the tool.
 */
const toolOutcomes = ['completed', 'failed', 'broken', 'refused', 'limited', 'invalid', 'aborted'] as const
export type ToolOutcomeWord = (typeof toolOutcomes)[number]

/** A call of a tool, without its arguments and its result. It outlives the person, the token and the tool. */
export const ToolUse = defineEntity({
  name: 'ToolUse',
  tableName: 'tool_uses',
  indexes: [{ properties: ['user', 'createdAt'] }],
  properties: {
    id: p.bigint('number').primary(),
    createdAt: moment().defaultRaw('now()').index(),
    user: () => p.manyToOne(User).deleteRule('set null').nullable().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('set null').nullable().index().ref(),
    /** The label of the tool server; null for a function of an extension. */
    server: p.string().length(120).nullable(),
    tool: p.string().length(120),
    surface: p.enum(toolSurfaces),
    outcome: p.enum(toolOutcomes),
    durationMs: p.integer(),
    /** Size of the result that the caller got. */
    bytes: p.integer().default(0),
  },
})
