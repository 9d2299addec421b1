import { AccessToken } from './access-token.ts'
import { AiModel } from './ai-model.ts'
import { AiModelDescription } from './ai-model-description.ts'
import { AiModelUsageRule } from './ai-model-usage-rule.ts'
import { AiProvider } from './ai-provider.ts'
import { AiTool } from './ai-tool.ts'
import { AppliedFrontendMigration } from './applied-frontend-migration.ts'
import { FrontendMigration } from './frontend-migration.ts'
import { FrontendMigrationUserdata } from './frontend-migration-userdata.ts'
import { McpServer } from './mcp-server.ts'
import { PasskeyBackup } from './passkey-backup.ts'
import { SystemModel } from './system-model.ts'
import { SystemPrompt } from './system-prompt.ts'
import { UsageRecord } from './usage-record.ts'
import { User } from './user.ts'
import { UserKeychainValue } from './user-keychain-value.ts'

/** Every table. */
export const entities = [
  User,
  AccessToken,
  AiProvider,
  AiModel,
  AiModelDescription,
  AiModelUsageRule,
  AiTool,
  McpServer,
  SystemModel,
  SystemPrompt,
  FrontendMigration,
  AppliedFrontendMigration,
  FrontendMigrationUserdata,
  UsageRecord,
  UserKeychainValue,
  PasskeyBackup,
]
