import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { toolKinds } from './ai-tool.ts'

/**
 * The name of a tool that is gone. For a while no other tool gets it, because programs may still allow calls by this
 * name.
 */
export const FreedToolName = defineEntity({
  name: 'FreedToolName',
  tableName: 'freed_tool_names',
  properties: {
    name: p.string().length(120).primary(),
    /** The address of its server and the server's name for it: a tool with both is the same, and gets the name again. */
    url: p.string().length(2048),
    mcpName: p.string().length(2048),
    kind: p.enum(toolKinds).default('tool'),
    freedAt: moment(),
  },
})
