import { ToolUse } from './ai/tool-use.ts'
import { UsageBill, UsageClosing } from './ai/usage-closing.ts'
import { UsageCounter } from './ai/usage-counter.ts'
import { UsageLimit, UsageLimitVersion } from './ai/usage-limit.ts'
import { UsageRecord } from './ai/usage-record.ts'
import { UsageReservation } from './ai/usage-reservation.ts'
import { UsageRollup } from './ai/usage-rollup.ts'
import { ExtApp, ExtAppCredential } from './apps/ext-app.ts'
import { ExtAppConnectRequest } from './apps/ext-app-connect-request.ts'
import { ExtAppLink } from './apps/ext-app-link.ts'
import { Assistant, AssistantEditor, AssistantFavorite } from './assistants/assistant.ts'
import { AssistantVersion } from './assistants/assistant-version.ts'
import { Knowledge, KnowledgeFile, KnowledgePassage, KnowledgeTerms } from './assistants/knowledge.ts'
import { KnowledgeEmbedding, KnowledgeIndex, KnowledgeVector } from './assistants/knowledge-vectors.ts'
import { AiModel } from './catalogue/ai-model.ts'
import { AiModelDescription } from './catalogue/ai-model-description.ts'
import { AiModelUsageRule } from './catalogue/ai-model-usage-rule.ts'
import { AiProvider } from './catalogue/ai-provider.ts'
import { AiTool } from './catalogue/ai-tool.ts'
import { FreedToolName } from './catalogue/freed-tool-name.ts'
import { McpConnection } from './catalogue/mcp-connection.ts'
import { McpServer } from './catalogue/mcp-server.ts'
import { ModelPrice } from './catalogue/model-price.ts'
import { ProviderOutage } from './catalogue/provider-outage.ts'
import { ProviderServer } from './catalogue/provider-server.ts'
import { SystemModel } from './catalogue/system-model.ts'
import { SystemPrompt } from './catalogue/system-prompt.ts'
import { AuditEntry, AuditHead } from './events/audit-entry.ts'
import { ChangeEpoch, ChangeLogEntry, ChangeStream } from './events/change-log.ts'
import { AccessToken } from './identity/access-token.ts'
import { AccountInvitation } from './identity/account-invitation.ts'
import {
  AppliedFrontendMigration,
  FrontendMigration,
  FrontendMigrationUserdata,
} from './identity/frontend-migration.ts'
import { PasskeyBackup } from './identity/passkey-backup.ts'
import { PersonExport } from './identity/person-export.ts'
import { Session } from './identity/session.ts'
import { User } from './identity/user.ts'
import { UserKeychainValue } from './identity/user-keychain-value.ts'
import { OAuthClient } from './oauth/oauth-client.ts'
import { OAuthCode } from './oauth/oauth-code.ts'
import { OAuthGrant } from './oauth/oauth-grant.ts'
import { Attachment } from './rooms/attachment.ts'
import { AttachmentText } from './rooms/attachment-text.ts'
import { Conversation } from './rooms/conversation.ts'
import { ConversationMessage } from './rooms/conversation-message.ts'
import { OwnPrompt, SharedPrompt } from './rooms/prompt.ts'
import { Room } from './rooms/room.ts'
import { RoomDisclosure } from './rooms/room-disclosure.ts'
import { RoomKey, RoomKeyEpoch } from './rooms/room-key.ts'
import { RoomMember } from './rooms/room-member.ts'
import { RoomMemberEvent } from './rooms/room-member-event.ts'
import { RoomMessage } from './rooms/room-message.ts'
import { RoomReaction } from './rooms/room-reaction.ts'
import { RoomReadMark } from './rooms/room-read-mark.ts'
import { SharedLink } from './rooms/shared-link.ts'
import { Announcement, AnnouncementReceipt, AnnouncementTarget } from './system/announcement.ts'
import { DeprecatedCall } from './system/deprecated-call.ts'

/** Every table. */
export const entities = [
  User,
  AccessToken,
  Session,
  AiProvider,
  ProviderServer,
  ProviderOutage,
  AccountInvitation,
  AiModel,
  AiModelDescription,
  AiModelUsageRule,
  ModelPrice,
  AiTool,
  McpServer,
  FreedToolName,
  McpConnection,
  SystemModel,
  SystemPrompt,
  OwnPrompt,
  SharedPrompt,
  Assistant,
  AssistantEditor,
  AssistantFavorite,
  AssistantVersion,
  Knowledge,
  KnowledgeFile,
  KnowledgePassage,
  KnowledgeTerms,
  KnowledgeIndex,
  KnowledgeEmbedding,
  KnowledgeVector,
  FrontendMigration,
  AppliedFrontendMigration,
  FrontendMigrationUserdata,
  UsageRecord,
  ToolUse,
  UsageReservation,
  UsageRollup,
  UsageLimit,
  UsageLimitVersion,
  UsageBill,
  UsageClosing,
  UsageCounter,
  UserKeychainValue,
  PasskeyBackup,
  PersonExport,
  ChangeStream,
  ChangeLogEntry,
  ChangeEpoch,
  AuditHead,
  AuditEntry,
  Room,
  RoomMember,
  RoomMemberEvent,
  RoomMessage,
  Conversation,
  ConversationMessage,
  Attachment,
  AttachmentText,
  SharedLink,
  RoomReadMark,
  RoomReaction,
  RoomDisclosure,
  RoomKey,
  RoomKeyEpoch,
  DeprecatedCall,
  ExtApp,
  ExtAppCredential,
  ExtAppLink,
  ExtAppConnectRequest,
  OAuthClient,
  OAuthGrant,
  OAuthCode,
  Announcement,
  AnnouncementTarget,
  AnnouncementReceipt,
]
