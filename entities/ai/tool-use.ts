import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** Tools are called in a private chat or a request to a model, in a room, or by a program over MCP. */
const toolSurfaces = ['chat', 'room', 'mcp'] as const
export type ToolSurface = (typeof toolSurfaces)[number]

/**
 * These outcomes are of calls that were made, and that limits counted. A tool with an error of its own has `failed`; a call
 * without a result that could be taken is `broken`, and `aborted` if its caller had gone or lost the right to the tool.
 */
const countedOutcomes = ['completed', 'failed', 'broken', 'aborted'] as const

/**
 * These outcomes are of calls that were never made: the person did not allow the call (`refused`) or has not answered yet
 * (`asked`), a limit had no room for it (`limited`), its arguments did not match the schema (`invalid`), or it failed before
 * it began, or its caller had gone (`unmade`).
 */
export const uncountedOutcomes = ['refused', 'asked', 'limited', 'invalid', 'unmade'] as const

const toolOutcomes = [...countedOutcomes, ...uncountedOutcomes] as const
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
    /** Limits count by it, as labels change. It outlives the server, so nothing refers to it. */
    serverId: p.integer().nullable(),
    tool: p.string().length(120),
    surface: p.enum(toolSurfaces),
    outcome: p.enum(toolOutcomes),
    durationMs: p.integer(),
    /** Size of the result that the caller got. */
    bytes: p.integer().default(0),
    /** Millionths of the currency; absent if it cost nothing. A usage record has the same, for bills. */
    costMicros: p.bigint('number').nullable(),
    currency: p.character().length(3).nullable(),
  },
})
