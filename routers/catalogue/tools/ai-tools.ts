import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { visibleModels } from '../../../entities/catalogue/ai-model.ts'
import { AiTool, toolTypes, visibleTools } from '../../../entities/catalogue/ai-tool.ts'
import { availabilities } from '../../../entities/sql/columns.ts'
import type { ParameterBinder, SqlPredicate } from '../../../entities/sql/scope.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { assertMayActSensitively, router, withBodySize } from '../../core/trpc.ts'
import {
  attribute,
  cataloguePage,
  choice,
  defineResource,
  filterByVariant,
  many,
  one,
  sortedTimestamps,
} from '../../resource/declare.ts'
import { exposeAs } from '../../resource/exposure.ts'
import { dropUnchanged } from '../../verbs/drop-unchanged.ts'
import { defineReads } from '../../verbs/read.ts'
import { defineRelationshipWrites } from '../../verbs/relationship.ts'
import { administrator, updateRow, type WrittenRow } from '../../verbs/write.ts'
import { buildUpdateInput, type RowChange } from '../../verbs/write-inputs.ts'
import { groupList } from '../schemas.ts'

const capability = z.string().trim().min(1).max(80).nullable()

const aboutActive =
  'True if models may call the tool. A new tool of a tool server is false, and so is one whose description has changed. ' +
  'If `mcpConfig` differs from `approvedConfig`, true approves the description that you have read and requires its `ETag` in ' +
  '`If-Match`: the response is 428 without it, and 412 if the description has changed. This requires a fresh session, or a ' +
  'token with the ability `admin`.'

const definition = z
  .object({
    description: z.string(),
    inputSchema: z.record(z.string(), z.json()),
    capability: z.string().nullable(),
    title: z.string().nullable(),
    outputSchema: z.record(z.string(), z.json()).nullable(),
    annotations: z.record(z.string(), z.boolean()).nullable(),
  })
  .partial()
  .nullable()

const assignedFilter = z
  .string()
  .regex(/^(true|false|[1-9]\d{0,8})$/, "must be a model's id, `true` for any model, or `false` for none")
  .describe(
    'The id of a model lists the tools that are assigned to it. `true` lists tools that are assigned to any model, `false` to none.',
  )

const statusColumn: SqlPredicate = (tool, sql) => {
  const server = sql.alias()
  return `case when ${tool}.tool_type = 'function' then 'online'
        else coalesce((select ${server}.status from mcp_servers ${server} where ${server}.id = ${tool}.server_id), 'unknown') end`
}

/** Builds a predicate: the tool is assigned to a model that the caller may see and for which `which` holds. */
const buildAssignedPredicate = (tool: string, sql: ParameterBinder, which = (_model: string) => 'true') =>
  sql.exists('ai_model_tools', (link) => {
    const isVisibleModel = (m: string) => `${m}.id = ${link}.model_id and ${which(m)} and ${visibleModels(m, sql)}`
    return `${link}.tool_id = ${tool}.id and ${sql.exists('ai_models', isVisibleModel)}`
  })

const hasStatus =
  (word: (typeof availabilities)[number]): SqlPredicate =>
  (tool, sql) =>
    `(${statusColumn(tool, sql)}) = '${word}'`

export const aiTools = defineResource({
  type: 'ai-tools',
  about: 'The functions that models may call.',
  entity: AiTool,
  coalesced: true,
  scope: visibleTools,
  streams: 'all',
  attributes: {
    name: attribute(z.string().describe('The unique name of the tool.'), { sort: true }),
    description: attribute(z.string().describe('The description of the tool for models.')),
    capabilityKey: attribute(capability.describe('The purpose of the tool, a key of `ai-tool-capabilities`.'), {
      sql: (tool) => `coalesce(${tool}.mapped_capability, ${tool}.capability)`,
    }),
    status: attribute(z.enum(availabilities).describe('True if the tool can be reached.'), { sql: statusColumn }),
    active: attribute(z.boolean().describe(aboutActive), { write: 'update', only: 'admin' }),
    groups: attribute(
      groupList.describe(
        'The groups whose people may call the tool, if its server allows it, too. If empty, everybody may. Only these people and administrators see it.',
      ),
      { write: 'update', sensitive: true, only: 'admin' },
    ),
    mcpName: attribute(z.string().nullable().describe('The name of the tool at its tool server.'), {
      only: 'admin',
    }),
    mcpConfig: attribute(definition.describe('The current description by the tool server.'), { only: 'admin' }),
    approvedConfig: attribute(definition.describe('The description at the time of the last approval.'), {
      only: 'admin',
      property: 'approved',
    }),
    toolType: attribute(
      z.enum(toolTypes).describe('The origin of the tool: a function of this service, or a tool of a tool server.'),
      {
        only: 'admin',
      },
    ),
    serverCapabilityKey: attribute(capability.describe('The purpose that the tool declares.'), {
      only: 'admin',
      property: 'capability',
    }),
    mappedCapabilityKey: attribute(
      capability.describe('The purpose that an administrator chose, which replaces the declared one.'),
      { write: 'update', only: 'admin', property: 'mappedCapability' },
    ),
    ...sortedTimestamps,
  },
  relations: { server: one('mcp-servers', { alwaysVisible: true }), models: many('ai-models') },
  includes: ['server', 'models', 'models.provider'],
  filters: {
    assigned: filterByVariant(
      assignedFilter,
      {
        any: (tool, sql) => buildAssignedPredicate(tool, sql),
        none: (tool, sql) => `not ${buildAssignedPredicate(tool, sql)}`,
        one: (tool, sql, value) => buildAssignedPredicate(tool, sql, (model) => `${model}.id = ${value('int')}`),
      },
      (value) => (value === 'true' ? 'any' : value === 'false' ? 'none' : 'one'),
    ),
    status: choice('The state of the tool: `active` or `inactive`, or its reachability.', {
      active: (tool) => `${tool}.active`,
      inactive: (tool) => `not ${tool}.active`,
      online: hasStatus('online'),
      offline: hasStatus('offline'),
      unknown: hasStatus('unknown'),
    }),
  },
  page: cataloguePage,
})

/**
 * Approves the current definition of a tool, which is as sensitive here as in `mcp.approve`. The administrator must have
 * read this version.
 */
async function approveDefinition(
  ctx: Context,
  { em, row, input }: WrittenRow,
  ifVersion: RowChange['ifVersion'],
): Promise<void> {
  const tool = row as AiTool
  if (input['active'] !== true || isDeepStrictEqual(tool.approved, tool.mcpConfig)) return
  assertMayActSensitively(ctx)
  if (ifVersion === undefined) throw new Problem('precondition_required', { detail: UNREAD_DEFINITION })
  tool.approved = tool.mcpConfig ?? null
  await em.flush()
}

const UNREAD_DEFINITION =
  'The tool does not describe itself as it did when it was approved: read it, and name the version that you read.'

const models = defineRelationshipWrites(aiTools, 'models')

export const aiToolsRouter = router({
  ...defineReads(aiTools),

  update: administrator
    .meta({ ...exposeAs(aiTools, 'update'), ...withBodySize('record'), needsVersion: true })
    .use(dropUnchanged(aiTools))
    .input(buildUpdateInput(aiTools))
    .mutation(({ ctx, input }) =>
      updateRow(ctx, aiTools, input, { afterFlush: (written) => approveDefinition(ctx, written, input.ifVersion) }),
    ),

  addModels: models.add,
  replaceModels: models.replace,
  removeModels: models.remove,
})
