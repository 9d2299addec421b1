import type { EntityMetadata, EntityProperty, MetadataStorage } from '@mikro-orm/core'
import { ToolUse } from '../../entities/ai/tool-use.ts'
import { UsageBill } from '../../entities/ai/usage-closing.ts'
import { UsageRecord } from '../../entities/ai/usage-record.ts'
import { UsageRollup } from '../../entities/ai/usage-rollup.ts'
import { ExtAppLink } from '../../entities/apps/ext-app-link.ts'
import { Assistant, AssistantEditor, AssistantFavorite } from '../../entities/assistants/assistant.ts'
import { AssistantVersion } from '../../entities/assistants/assistant-version.ts'
import { Knowledge, KnowledgeFile } from '../../entities/assistants/knowledge.ts'
import { McpConnection } from '../../entities/catalogue/mcp-connection.ts'
import { AuditEntry } from '../../entities/events/audit-entry.ts'
import { AccessToken } from '../../entities/identity/access-token.ts'
import { AccountInvitation } from '../../entities/identity/account-invitation.ts'
import { AppliedFrontendMigration, FrontendMigrationUserdata } from '../../entities/identity/frontend-migration.ts'
import { PasskeyBackup } from '../../entities/identity/passkey-backup.ts'
import { PersonExport } from '../../entities/identity/person-export.ts'
import { Session } from '../../entities/identity/session.ts'
import { User } from '../../entities/identity/user.ts'
import { UserKeychainValue } from '../../entities/identity/user-keychain-value.ts'
import { OAuthClient } from '../../entities/oauth/oauth-client.ts'
import { OAuthGrant } from '../../entities/oauth/oauth-grant.ts'
import { Attachment } from '../../entities/rooms/attachment.ts'
import { Conversation } from '../../entities/rooms/conversation.ts'
import { ConversationMessage } from '../../entities/rooms/conversation-message.ts'
import { OwnPrompt } from '../../entities/rooms/prompt.ts'
import { joinedRooms, Room } from '../../entities/rooms/room.ts'
import { RoomDisclosure } from '../../entities/rooms/room-disclosure.ts'
import { RoomKey, RoomKeyEpoch } from '../../entities/rooms/room-key.ts'
import { RoomMember } from '../../entities/rooms/room-member.ts'
import { RoomMemberEvent } from '../../entities/rooms/room-member-event.ts'
import { RoomMessage } from '../../entities/rooms/room-message.ts'
import { RoomReaction } from '../../entities/rooms/room-reaction.ts'
import { RoomReadMark } from '../../entities/rooms/room-read-mark.ts'
import { SharedLink } from '../../entities/rooms/shared-link.ts'
import type { ParameterBinder, SqlPredicate } from '../../entities/sql/scope.ts'
import { isoTime } from '../../entities/sql/statement.ts'
import { AnnouncementReceipt, AnnouncementTarget } from '../../entities/system/announcement.ts'
import { DeprecatedCall } from '../../entities/system/deprecated-call.ts'
import { openTexts } from '../../routers/assistants/content.ts'
import type { Vault } from '../../routers/ports/vault.ts'

/** A table with data of persons. */
export interface PersonalTable {
  entity: object
  /** Type of the rows, if it differs from the name of the table or of the declared type. */
  type?: string
  /** Properties that lead from a row to the person. */
  path?: readonly string[]
  /** Selects the person's rows, if no property leads to the person. */
  predicate?: SqlPredicate
  /** SQL for the exported columns, if they are not all columns. */
  columns?: Readonly<Record<string, SqlPredicate>> | undefined
  /** Opens what the service has sealed among the exported columns. */
  open?(attributes: Readonly<Record<string, unknown>>, vault: Vault): Record<string, unknown>
}

const compareToViewer = (column: string, sql: ParameterBinder) => `${column} = ${sql.param('viewer')}`

/** Columns of a person that other users do not see. */
const accountColumns: PersonalTable['columns'] = {
  subject: (row) => `${row}.subject`,
  groups: (row) => `${row}.groups`,
  disabled: (row) => `${row}.disabled`,
  signedInAt: (row) => isoTime(`${row}.signed_in_at`),
  passwordChangedAt: (row) => isoTime(`${row}.password_changed_at`),
  sealedChatSettings: (row) => `${row}.sealed_chat_settings`,
}

/** Writes SQL for the name of the person in the audit log. */
const writeAuditName = (sql: ParameterBinder) => `concat('user:', ${sql.param('viewer')})`

/**
 * Exports the person's actions and those that affected them, without the names of others. The origin is included only
 * for their own actions.
 */
const auditColumns: PersonalTable['columns'] = {
  at: (row) => isoTime(`${row}.at`),
  act: (row) => `${row}.act`,
  outcome: (row) => `${row}.outcome`,
  actor: (row, sql) => maskOtherUsers(`${row}.actor`, sql),
  subject: (row, sql) => maskOtherUsers(`${row}.subject`, sql),
  origin: (row, sql) => `case when ${row}.actor = ${writeAuditName(sql)} then ${row}.origin::jsonb - 'salt' end`,
  change: (row, sql) => `case when ${row}.subject = ${writeAuditName(sql)} then ${row}.change::jsonb - 'salt' end`,
}

const maskOtherUsers = (column: string, sql: ParameterBinder) =>
  `case when ${column} like 'user:%' and ${column} <> ${writeAuditName(sql)} then 'user' else ${column} end`

/** Exports the programs that the person has signed in, by their names. */
const grantColumns: PersonalTable['columns'] = {
  client: (row) => `(select c.name from ${OAuthClient.tableName} c where c.id = ${row}.client_id)`,
  host: (row) => `(select c.host from ${OAuthClient.tableName} c where c.id = ${row}.client_id)`,
  resources: (row) => `${row}.resources`,
  servers: (row) => `${row}.servers`,
  device: (row) => `${row}.device`,
  createdAt: (row) => isoTime(`${row}.created_at`),
  rotatedAt: (row) => isoTime(`${row}.rotated_at`),
  endsAt: (row) => isoTime(`${row}.ends_at`),
  replayedAt: (row) => isoTime(`${row}.replayed_at`),
}

/** Exports the versions of the person's assistants with their texts, which the service has sealed. */
const versionColumns: PersonalTable['columns'] = {
  handle: (row) => `(select a.handle from ${Assistant.tableName} a where a.id = ${row}.assistant_id)`,
  number: (row) => `${row}.number`,
  createdAt: (row) => isoTime(`${row}.created_at`),
  publishedAt: (row) => isoTime(`${row}.published_at`),
  name: (row) => `${row}.name`,
  description: (row) => `${row}.description`,
  model: (row) => `${row}.model`,
  fallback: (row) => `${row}.fallback`,
  parameters: (row) => `${row}.parameters`,
  tools: (row) => `${row}.tools`,
  knowledge: (row) => `(select k.name from ${Knowledge.tableName} k where k.id = ${row}.knowledge_id)`,
  tags: (row) => `${row}.tags`,
  allowModelSelect: (row) => `${row}.allow_model_select`,
  approvedAt: (row) => isoTime(`${row}.approved_at`),
  texts: (row) => `${row}.texts`,
}

const openVersion: PersonalTable['open'] = ({ texts, ...attributes }, vault) => ({
  ...attributes,
  ...openTexts(vault, String(texts)),
})

/** Exports the assistants of others that the person may change or keeps at hand, by their handles. */
const handleColumns: PersonalTable['columns'] = {
  handle: (row) => `(select a.handle from ${Assistant.tableName} a where a.id = ${row}.assistant_id)`,
}

/** The tables of an archive, in order. */
export const personalTables: readonly PersonalTable[] = [
  { entity: User, predicate: (row, sql) => compareToViewer(`${row}.id`, sql) },
  {
    type: 'accounts',
    entity: User,
    predicate: (row, sql) => compareToViewer(`${row}.id`, sql),
    columns: accountColumns,
  },
  { entity: UserKeychainValue, path: ['user'] },
  { entity: PasskeyBackup, path: ['user'] },
  { entity: Session, path: ['user'] },
  { entity: AccessToken, path: ['user'] },
  { entity: AccountInvitation, path: ['user'] },
  { entity: AppliedFrontendMigration, path: ['user'] },
  { entity: FrontendMigrationUserdata, path: ['user'] },
  { entity: PersonExport, path: ['user'] },
  { entity: Conversation, path: ['user'] },
  { entity: ConversationMessage, path: ['conversation', 'user'] },
  { entity: SharedLink, path: ['owner'] },
  { entity: OwnPrompt, path: ['user'] },
  { entity: Room, predicate: joinedRooms },
  { entity: RoomMember, path: ['user'] },
  { entity: RoomMemberEvent, path: ['member', 'user'] },
  {
    entity: RoomKeyEpoch,
    predicate: (row, sql) => `${row}.room_id in (select j.id from ${Room.tableName} j where ${joinedRooms('j', sql)})`,
  },
  { entity: RoomKey, path: ['user'] },
  { entity: RoomMessage, path: ['member', 'user'] },
  { entity: RoomReaction, path: ['member', 'user'] },
  { entity: RoomReadMark, path: ['user'] },
  { entity: RoomDisclosure, path: ['user'] },
  { entity: Attachment, path: ['uploader'] },
  { entity: Assistant, path: ['owner'] },
  { entity: AssistantVersion, path: ['assistant', 'owner'], columns: versionColumns, open: openVersion },
  { entity: Knowledge, path: ['owner'] },
  { entity: KnowledgeFile, path: ['knowledge', 'owner'] },
  { entity: AssistantEditor, path: ['user'], columns: handleColumns },
  { entity: AssistantFavorite, path: ['user'], columns: handleColumns },
  { entity: ExtAppLink, path: ['user'] },
  { entity: OAuthGrant, path: ['user'], columns: grantColumns },
  { entity: McpConnection, path: ['user'] },
  { entity: AnnouncementTarget, path: ['user'] },
  { entity: AnnouncementReceipt, path: ['user'] },
  { entity: UsageRecord, path: ['user'] },
  { entity: ToolUse, path: ['user'] },
  { entity: UsageRollup, path: ['user'] },
  { entity: UsageBill, path: ['user'] },
  { entity: DeprecatedCall, path: ['user'] },
  {
    entity: AuditEntry,
    predicate: (row, sql) => `(${row}.actor = ${writeAuditName(sql)} or ${row}.subject = ${writeAuditName(sql)})`,
    columns: auditColumns,
  },
]

/** Columns that refer to a person but are not exported, with the reason. */
export const excludedColumns: Readonly<Record<string, string>> = {
  'assistant_versions.author_id': 'a version of an assistant, which its owner has',
  'ext_app_connect_requests.user_id': 'a request that somebody has opened, which is gone within minutes',
  'oauth_codes.user_id': 'a code that a program exchanges within a minute, of which only the hash is left',
  'room_members.inviter_id': 'an invitation of somebody else, whose name it has',
}

type Metadata = Pick<EntityMetadata, 'properties' | 'tableName' | 'className'>

/** Builds SQL that selects the rows of the person, who is the viewer. */
export function buildOwnerPredicate(
  { entity, path = [], predicate }: PersonalTable,
  metadata: MetadataStorage,
): SqlPredicate {
  if (predicate) return predicate
  const meta = metadata.get(entity as never) as Metadata
  return (row, sql) => followPath(meta, path, row, sql)
}

function followPath(
  meta: Metadata,
  [name = '', ...rest]: readonly string[],
  row: string,
  sql: ParameterBinder,
): string {
  const property = (meta.properties as Record<string, EntityProperty | undefined>)[name]
  const [column] = property?.fieldNames ?? []
  const target = property?.targetMeta
  if (!column || !target) throw new Error(`${meta.className}.${name} leads to no table`)
  if (rest.length === 0) return compareToViewer(`${row}.${column}`, sql)
  const next = sql.alias()
  return `${row}.${column} in (select ${next}.id from ${target.tableName} ${next} where ${followPath(target as Metadata, rest, next, sql)})`
}
