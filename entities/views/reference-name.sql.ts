import { ExtApp } from '../apps/ext-app.ts'
import { AiModel } from '../catalogue/ai-model.ts'
import { AiProvider } from '../catalogue/ai-provider.ts'
import { AiTool } from '../catalogue/ai-tool.ts'
import { McpServer } from '../catalogue/mcp-server.ts'
import { SystemModel } from '../catalogue/system-model.ts'
import { User } from '../identity/user.ts'
import { OAuthClient } from '../oauth/oauth-client.ts'
import { SharedPrompt } from '../rooms/prompt.ts'
import { statement } from '../sql/statement.ts'
import { Announcement } from '../system/announcement.ts'

/** The kinds of references that have a name, with their tables. */
const namedKinds = {
  user: [User.tableName, `coalesce(nullif(name, ''), username)`],
  app: [ExtApp.tableName, 'name'],
  'ext-apps': [ExtApp.tableName, 'name'],
  'oauth-client': [OAuthClient.tableName, 'name'],
  'ai-models': [AiModel.tableName, 'model_id'],
  'ai-providers': [AiProvider.tableName, 'provider_id'],
  'ai-tools': [AiTool.tableName, 'name'],
  'mcp-servers': [McpServer.tableName, 'server_label'],
  'system-models': [SystemModel.tableName, 'model_type'],
  prompts: [SharedPrompt.tableName, 'name'],
  announcements: [Announcement.tableName, 'title'],
} as const

/** Finds the names of what references such as `user:5` lead to; no row without one. Values: a reference's ids by kind, as JSON. */
export const findReferenceNames = statement<{ reference: string; name: string }>(
  'find-reference-names',
  Object.entries(namedKinds)
    .map(
      ([kind, [table, name]]) => `select concat('${kind}:', id) as reference, ${name} as name from ${table}
        where id = any(array(select jsonb_array_elements_text($1::jsonb -> '${kind}')::int))`,
    )
    .join('\n union all '),
)
