import { isoTime, statement } from '../sql/statement.ts'

export interface ConversationRow {
  id: string
  slug: string
  name: string
  /** Ciphertext. */
  systemPrompt: string | null
  messageCount: number
  createdAt: string
  updatedAt: string
}

const columns = `c.id::text as id, c.slug, c.name, c.system_prompt as "systemPrompt", c.message_count as "messageCount",
  ${isoTime('c.created_at')} as "createdAt", ${isoTime('c.updated_at')} as "updatedAt"`

/** Values: the person's id, milliseconds since 1970 and the id behind which to begin, how many at most. The newest first. */
export const listConversations = statement<ConversationRow>(
  'list-conversations',
  `select ${columns} from conversations c
    where user_id = $1 and (updated_at, id) < (timestamptz 'epoch' + $2::float8 * interval '1 millisecond', $3::int)
    order by updated_at desc, id desc limit $4`,
)

/** Values: the slug and the person's id. */
export const findConversation = statement<ConversationRow>(
  'find-conversation',
  `select ${columns} from conversations c where slug = $1 and user_id = $2`,
)

export interface LockedConversation {
  id: number
  messageCount: number
  /** Of its system prompt. */
  promptBytes: number
}

/**
 * Values: the slug and the person's id. Everything that a person writes in their conversations queues at the person, in the
 * order in which everybody locks: first the person.
 */
export const lockConversation = statement<LockedConversation>(
  'lock-conversation',
  `select c.id, c.message_count as "messageCount", octet_length(coalesce(c.system_prompt, '')) as "promptBytes"
    from users u join conversations c on c.user_id = u.id
    where c.slug = $1 and u.id = $2 for no key update`,
)

/** Values: the person's id. What their conversations take. */
export const measureConversations = statement<{ count: number; bytes: number }>(
  'measure-conversations',
  `select count(*)::int as count, coalesce(sum(bytes + octet_length(coalesce(system_prompt, ''))), 0)::float8 as bytes
    from conversations where user_id = $1`,
)

/** Values: the person's id, slug, name, system prompt. */
export const insertConversation = statement<{ slug: string }>(
  'insert-conversation',
  'insert into conversations (user_id, slug, name, system_prompt) values ($1, $2, $3, $4) returning slug',
)

/** Values: the id, a name or nothing to keep it, whether the system prompt changes, and the system prompt. */
export const updateConversation = statement<never>(
  'update-conversation',
  `update conversations set name = coalesce($2, name), system_prompt = case when $3 then $4 else system_prompt end,
      updated_at = now() where id = $1`,
)

/** Values: the id. */
export const deleteConversation = statement<never>('delete-conversation', 'delete from conversations where id = $1')
